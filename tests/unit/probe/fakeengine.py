"""A small engine on the loopback interface that answers as it is told and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

Fault = Callable[[int], Awaitable[web.StreamResponse | None]]


async def no_fault(_: int) -> web.StreamResponse | None:
    """Let every request go well."""
    return None


@dataclass
class FakeEngine:
    """Streams ``max_tokens`` tokens, one every ``itl`` seconds, after ``ttft`` seconds.

    Attributes:
        ttft: Seconds until the first token.
        itl: Seconds between tokens.
        fault: Called with the number of the request; may answer in its place, or fail.
        prompts: What it was asked, in order.
        most_open: The most requests that were open at once.
        open_at_start: How many were open when each request came, itself included.
    """

    ttft: float = 0.01
    itl: float = 0.002
    fault: Fault = no_fault
    prompts: list[str] = field(default_factory=list)
    most_open: int = 0
    open_at_start: list[int] = field(default_factory=list)
    url: str = ""
    _open: int = 0
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> FakeEngine:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/version", self._version)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": "0.33.0"})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        number = len(self.prompts)
        self.prompts.append(body["messages"][0]["content"])
        self._open += 1
        self.most_open = max(self.most_open, self._open)
        self.open_at_start.append(self._open)
        try:
            return await self.fault(number) or await self._stream(request, body)
        finally:
            self._open -= 1

    async def _stream(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        tokens = int(str(body["max_tokens"]))
        await asyncio.sleep(self.ttft)
        for index in range(tokens):
            if index:
                await asyncio.sleep(self.itl)
            finish = "length" if index == tokens - 1 else None
            await _send(response, {"choices": [{"delta": {"content": "x"}, "finish_reason": finish}]})
        prompt = str(self.prompts[-1])
        counts = {"prompt_tokens": len(prompt.split()), "completion_tokens": tokens}
        await _send(response, {"choices": [], "usage": counts})
        await response.write(b"data: [DONE]\n\n")
        return response


async def _send(response: web.StreamResponse, event: dict[str, object]) -> None:
    await response.write(f"data: {json.dumps(event)}\n\n".encode())
