"""What the agent answers on its port: metrics, the acknowledgement, and its health."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aiohttp import web

from chaffinch.agent.admin import AdminError, EnvoyAdmin, EnvoyDownError
from chaffinch.agent.counting import LogCounter
from chaffinch.agent.exposition import COMMON, CONTENT_TYPE, exposition
from chaffinch.agent.keeper import RouteKeeper
from chaffinch.agent.own_metrics import own_metrics
from chaffinch.agent.settings import AgentSettings

_SETTLE_SECONDS = 5
"""How long new requests may still come after the pod has begun to end: its address has to leave
every node's tables first."""
_POLL_SECONDS = 0.5
_ANSWER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Views:
    """The answers.

    Attributes:
        settings: Whose router this is.
        agent: The name of this process: pod and start.
        keeper: What is served.
        counter: What has been counted.
        admin: Envoy's admin interface.
    """

    settings: AgentSettings
    agent: str
    keeper: RouteKeeper
    counter: LogCounter
    admin: EnvoyAdmin

    def application(self) -> web.Application:
        """Return the application that serves them."""
        app = web.Application()
        app.router.add_get("/metrics", self.metrics)
        app.router.add_get("/state", self.state)
        app.router.add_get("/healthz", self.healthz)
        app.router.add_get("/readyz", self.readyz)
        app.router.add_get("/drained", self.drained)
        return app

    async def metrics(self, _: web.Request) -> web.Response:
        """Answer a scrape."""
        of = self.settings
        common = dict(zip(COMMON, (of.namespace, of.rollout, of.rollout_uid, self.agent), strict=True))
        own = own_metrics(self.counter, self.keeper)
        text = exposition(common, self.counter.blocks.vectors(), own)
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})

    async def state(self, _: web.Request) -> web.Response:
        """Acknowledge the route that Envoy serves, and say what is still under way; 503 before any route."""
        served = self.keeper.served
        if served is None:
            raise web.HTTPServiceUnavailable(text="no route is served yet\n")
        route = served.applied.truth.route
        answer = {
            "epoch": route.epoch,
            "sequence": route.sequence,
            "appliedAt": datetime.fromtimestamp(served.since, UTC).isoformat(),
            "weights": dict(served.applied.translation.weights),
            "endpoints": dict(served.applied.translation.ready),
            "open": await open_requests(self.admin, [arm.revision for arm in route.arms]),
        }
        return web.Response(text=json.dumps(answer), content_type="application/json")

    async def healthz(self, _: web.Request) -> web.Response:
        """Say that the process runs, and that Envoy's bootstrap is written."""
        return web.Response(text="ok\n")

    async def readyz(self, _: web.Request) -> web.Response:
        """Say whether a route has been applied."""
        if self.keeper.served is None:
            raise web.HTTPServiceUnavailable(text="no route is served yet\n")
        return web.Response(text="ok\n")

    async def drained(self, _: web.Request) -> web.Response:
        """Answer once Envoy has nothing left to serve, or its time is up. It only waits."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.settings.drain_seconds
        await asyncio.sleep(min(_SETTLE_SECONDS, self.settings.drain_seconds))
        # Envoy tells nobody when its last request ends; it has to be asked.
        while loop.time() < deadline and await may_be_serving(self.admin):  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
        return web.Response(text="ok\n")


async def may_be_serving(admin: EnvoyAdmin) -> bool:
    """Say whether Envoy has requests under way, as far as anyone can tell.

    An Envoy that is too busy to answer is taken to have some; one that does not run has none.
    """
    try:
        return await admin.active_requests() > 0
    except EnvoyDownError:
        return False
    except AdminError:
        return True


async def open_requests(admin: EnvoyAdmin, revisions: Sequence[str]) -> dict[str, int] | None:
    """Return how many requests each revision has under way in this router; None if nobody can tell.

    The acknowledgement does not wait long for it: a rollback depends on the one, only the end of the
    pods on the other.
    """
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            counts = await admin.requests_by_cluster()
    except EnvoyDownError:
        counts = {}
    except (AdminError, TimeoutError):
        return None
    return {revision: counts.get(revision, 0) for revision in revisions}
