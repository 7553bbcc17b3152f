"""A stand-in for an engine pod: answers as the request asks it to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import web

FIRST_TOKEN_SECONDS = 0.2


@dataclass(slots=True)
class Upstream:
    """One running stand-in."""

    port: int
    served: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Do what the query asks for; the body is read first, as an engine does."""
        self.served += 1
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
async def upstream(keepalive_seconds: float = 75) -> AsyncIterator[Upstream]:
    """Run a stand-in on a free port of loopback; it closes connections that are idle for so long."""
    state = Upstream(port=0)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", state.answer)
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=0.1,
        handler_cancellation=True,
        keepalive_timeout=keepalive_seconds,
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    state.port = runner.addresses[0][1]
    try:
        yield state
    finally:
        await runner.cleanup()
