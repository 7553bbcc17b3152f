"""The worker's desk: progress and metrics while it works, then the result until somebody has it.

The result is pulled, never pushed: the worker needs no credentials and no way to the API server, and the
operator asks only the pod whose uid and owner it has checked.
"""

from __future__ import annotations

import asyncio

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from chaffinch.probe.watch import Watch

PORT = 9090


class ResultDesk:
    """Serves one run over HTTP.

    ``GET /result`` is 503 until the run is done, ``GET /progress`` tells how far it is, ``GET
    /metrics`` is for Prometheus, and ``POST /collected`` lets the worker go (409 while there is nothing
    to collect).
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._result: str | None = None
        self._collected = asyncio.Event()

    def app(self) -> web.Application:
        """Return the web application."""
        app = web.Application(client_max_size=1024)
        app.router.add_get("/result", self._get_result)
        app.router.add_get("/progress", self._get_progress)
        app.router.add_get("/metrics", self._get_metrics)
        app.router.add_post("/collected", self._post_collected)
        return app

    def publish(self, result: str) -> None:
        """Lay the result out."""
        self._result = result
        self._watch.finish()

    async def wait_collected(self, timeout_seconds: float) -> bool:
        """Wait until the result was collected; returns whether it was in time."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._collected.wait()
        except TimeoutError:
            return False
        return True

    async def _get_result(self, _: web.Request) -> web.Response:
        if self._result is None:
            return web.json_response(self._watch.progress(), status=503)
        return web.Response(text=self._result, content_type="application/json")

    async def _get_progress(self, _: web.Request) -> web.Response:
        return web.json_response(self._watch.progress())

    async def _get_metrics(self, _: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(self._watch.registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    async def _post_collected(self, _: web.Request) -> web.Response:
        if self._result is None:
            return web.json_response(self._watch.progress(), status=409)
        self._collected.set()
        return web.Response(status=204)


async def serve(desk: ResultDesk, port: int) -> web.AppRunner:
    """Start serving on all addresses; the caller cleans the runner up.

    Raises:
        OSError: If the port cannot be had.
    """
    runner = web.AppRunner(desk.app(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, port=port).start()
    return runner
