"""The stage's watch of pods: what it leaves to others, and what it does not keep to itself."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from kwokstage.api import Api
from kwokstage.evidence import Script
from kwokstage.stage import Stage

_SECONDS = 10.0
ON_A_REAL_NODE = {
    "type": "ADDED",
    "object": {"metadata": {"uid": "1"}, "status": {"podIP": "192.0.2.1", "phase": "Running"}},
}


class ApiServer:
    """Answers every watch with one line, and ends it.

    Args:
        line: What happens.

    Attributes:
        asked_again: Set as soon as somebody watches who has read the line before.
    """

    def __init__(self, line: bytes) -> None:
        self.asked_again = asyncio.Event()
        self._line = line
        self._watches = 0

    async def watch(self, _: web.Request) -> web.Response:
        self._watches += 1
        if self._watches > 1:
            self.asked_again.set()
        return web.Response(body=self._line)


@asynccontextmanager
async def watching(server: ApiServer) -> AsyncIterator[Stage]:
    app = web.Application()
    app.router.add_get("/api/v1/pods", server.watch)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    api = Api(f"http://127.0.0.1:{runner.addresses[0][1]}", ssl.create_default_context())
    try:
        yield Stage(api, Script())
    finally:
        await api.close()
        await runner.cleanup()


async def test_a_pod_of_a_real_node_is_left_to_its_own_containers() -> None:
    server = ApiServer(json.dumps(ON_A_REAL_NODE).encode() + b"\n")
    async with watching(server) as stage:
        await stage.start()
        await asyncio.wait_for(server.asked_again.wait(), _SECONDS)
        await stage.stop()


async def test_a_watch_that_ended_by_itself_says_why() -> None:
    server = ApiServer(b"no event\n")
    async with watching(server) as stage:
        await stage.start()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(server.asked_again.wait(), 1)
        with pytest.raises(ValueError, match="Expecting value"):
            await stage.stop()
