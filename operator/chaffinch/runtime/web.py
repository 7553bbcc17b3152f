"""The two small web servers of the process: health for the kubelet, metrics for Prometheus.

They run in the event loop on purpose: a loop that is stuck does not answer, and is restarted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from chaffinch.runtime.health import Health


def health_app(health: Health, lease_seconds_left: Callable[[], float]) -> web.Application:
    """Build the server of ``/healthz`` and ``/readyz``."""

    async def healthz(_: web.Request) -> web.Response:
        report = health.report(lease_seconds_left())
        return web.json_response(report.details, status=200 if report.healthy else 503)

    async def readyz(_: web.Request) -> web.Response:
        return web.json_response({"started": health.started}, status=200 if health.started else 503)

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    return app


def metrics_app(registry: CollectorRegistry) -> web.Application:
    """Build the server of ``/metrics``."""

    async def metrics(_: web.Request) -> web.Response:
        # With a thousand rollouts this takes a good part of a second, for which no pass should wait.
        text = await asyncio.to_thread(generate_latest, registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    return app


async def serve(app: web.Application, port: int) -> web.AppRunner:
    """Start a server on a port of all addresses; the caller cleans the runner up.

    Raises:
        OSError: If the port cannot be had.
    """
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, port=port).start()
    return runner
