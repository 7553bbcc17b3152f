"""A stand-in for an engine pod: answers as the request asks it to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from aiohttp import web

FIRST_TOKEN_SECONDS = 0.2


@dataclass(slots=True)
class Upstream:
    """One running stand-in.

    Attributes:
        port: Where it listens on loopback.
        served: How many requests it got.
        idle_seconds: How long after an answer it closes the connection, unless another request came
            on it; None: it does not. As with uvicorn, a connection that had no request yet stays open.
    """

    port: int
    served: int = 0
    idle_seconds: float | None = None
    _latest: WeakKeyDictionary[asyncio.BaseTransport, int] = field(default_factory=WeakKeyDictionary)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Do what the query asks for; the body is read first, as an engine does."""
        self.served += 1
        connection = request.transport
        if connection is None or self.idle_seconds is None:
            return await self._answer(request)
        self._latest[connection] = number = self.served
        try:
            return await self._answer(request)
        finally:
            asyncio.get_running_loop().call_later(self.idle_seconds, self._close_idle, connection, number)

    def _close_idle(self, connection: asyncio.BaseTransport, number: int) -> None:
        if self._latest[connection] == number:
            connection.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        behaviour = request.query.get("do", "plain")
        if behaviour.isdecimal():
            return web.Response(status=int(behaviour), text="as asked for")
        if behaviour == "plain":
            return web.json_response({"request": request.headers.get("x-request-id")})
        if behaviour == "reset":
            return await _abort(request, web.Response())
        return await self._stream(request, behaviour)

    async def _stream(self, request: web.Request, behaviour: str) -> web.StreamResponse:
        headers = {"Content-Type": "text/event-stream; charset=utf-8", "X-Chaffinch-Revision": "forged"}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        if behaviour == "empty":
            await response.write(b"data: [DONE]\n\n")
            return response
        if behaviour == "silent":
            await asyncio.sleep(30)
        # The headers are out already: the first token comes late.
        await asyncio.sleep(FIRST_TOKEN_SECONDS if behaviour != "quick" else 0)
        await response.write(b'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\n')
        if behaviour == "cut":
            return await _abort(request, response)
        if behaviour == "endless":
            await asyncio.sleep(30)
        await asyncio.sleep(float(request.query.get("more", 0.01)))
        await response.write(b"data: [DONE]\n\n")
        return response


async def _abort(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    await asyncio.sleep(0.02)  # lets what was written leave
    if request.transport is not None:
        request.transport.abort()
    return response


@contextlib.asynccontextmanager
async def upstream(idle_seconds: float | None = None) -> AsyncIterator[Upstream]:
    """Run a stand-in on a free port of loopback."""
    state = Upstream(port=0, idle_seconds=idle_seconds)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", state.answer)
    # aiohttp's own timer runs from the moment of connecting: on a busy machine a short one would close
    # a new connection before its first request, which no engine does.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    state.port = runner.addresses[0][1]
    try:
        yield state
    finally:
        await runner.cleanup()
