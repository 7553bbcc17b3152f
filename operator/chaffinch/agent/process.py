"""The agent's process: makes the parts, runs them side by side, and ends them in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import time
from collections.abc import AsyncIterator, Callable

from aiohttp import web

from chaffinch.agent.admin import AdminError, EnvoyAdmin
from chaffinch.agent.apply import Applier
from chaffinch.agent.blocks import Blocks
from chaffinch.agent.counting import LogCounter
from chaffinch.agent.keeper import RouteKeeper
from chaffinch.agent.kube import ApiServer, Collection, Watcher
from chaffinch.agent.logreader import LogReader
from chaffinch.agent.settings import AgentSettings
from chaffinch.agent.web import Views
from chaffinch.api.v1alpha1.names import router_name
from chaffinch.domain.names import ROLLOUT_LABEL

LOG_LIMIT_BYTES = 4 << 20

log = logging.getLogger(__name__)


async def serve(
    settings: AgentSettings, server: ApiServer, start_id: str, clock: Callable[[], float] = time.time
) -> None:
    """Run the agent until SIGTERM or SIGINT.

    Args:
        settings: Whose router this is.
        server: The API server.
        start_id: Tells this process apart from the one before it in the same pod.
        clock: The wall clock, in Unix seconds.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(settings, server, start_id, clock) as views:
        log.info("agent %s started", views.agent)
        await stop.wait()
        # Envoy has ended before its agent is told to: what it logged last is still counted.
        await views.counter.count()
    log.info("agent %s stopped", views.agent)


@contextlib.asynccontextmanager
async def running(
    settings: AgentSettings,
    server: ApiServer,
    start_id: str,
    clock: Callable[[], float] = time.time,
    log_limit: int = LOG_LIMIT_BYTES,
) -> AsyncIterator[Views]:
    """Run the agent's parts for the length of a block; an unforeseen failure of one ends it."""
    async with EnvoyAdmin(settings.paths.admin) as admin:
        applier = Applier(settings.paths, settings.traffic_port, admin)
        applier.prepare(settings.pod)
        settings.truth.parent.mkdir(exist_ok=True)
        counter = LogCounter(LogReader(settings.paths.access_log, log_limit), Blocks(clock()), admin, clock)
        keeper = RouteKeeper(
            settings,
            applier,
            clock,
            lambda route, now: counter.blocks.name_arms(
                route.attempt, [arm.revision for arm in route.arms], route.edges, now
            ),
        )
        keeper.resume()
        views = Views(settings, f"{settings.pod}-{start_id}", keeper, counter, admin)
        runner = web.AppRunner(views.application(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, port=settings.port).start()
        try:
            async with asyncio.TaskGroup() as group:
                parts = [keeper.run(), counter.run(), *(w.run() for w in _watchers(settings, server, keeper))]
                tasks = [group.create_task(part) for part in parts]
                yield views
                for task in tasks:
                    task.cancel()
        finally:
            await runner.cleanup()
            counter.reader.close()


def _watchers(settings: AgentSettings, server: ApiServer, keeper: RouteKeeper) -> tuple[Watcher, ...]:
    base = f"/api/v1/namespaces/{settings.namespace}/configmaps"
    # A list or watch that names one object is what a Role with resourceNames allows.
    config_map = Collection(base, {"fieldSelector": f"metadata.name={router_name(settings.rollout)}"})
    # Slices carry the labels of their Service; one selector covers every revision, also later ones.
    slices = Collection(
        f"/apis/discovery.k8s.io/v1/namespaces/{settings.namespace}/endpointslices",
        {"labelSelector": f"{ROLLOUT_LABEL}={settings.rollout}"},
    )
    jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing
    return (
        Watcher(server, config_map, keeper.config_map_changed, jitter),
        Watcher(server, slices, keeper.slices_changed, jitter),
    )


async def drain(settings: AgentSettings) -> None:
    """Have Envoy part with its clients: each connection is closed after the answer that it waits for."""
    async with EnvoyAdmin(settings.paths.admin) as admin:
        try:
            await admin.fail_health_check()
        except AdminError:
            log.warning("Envoy could not be asked to drain")
