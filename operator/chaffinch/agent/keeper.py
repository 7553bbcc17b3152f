"""Keeps Envoy at the newest route and endpoints that are known and acceptable."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from chaffinch.agent.admin import AdminError
from chaffinch.agent.apply import Applied, Applier, NotConfirmedError
from chaffinch.agent.endpoints import ready_endpoints
from chaffinch.agent.kube import Object
from chaffinch.agent.settings import AgentSettings
from chaffinch.agent.truth import Truth, load, refusal, save
from chaffinch.routing.route import ROUTE_KEY, Route, RouteError, parse_route

_RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Served:
    """What Envoy serves, and since when.

    Attributes:
        applied: The truth with its translation.
        since: When Envoy took this route over, in Unix seconds; a later change of endpoints alone
            does not move it.
    """

    applied: Applied
    since: float


@dataclass(slots=True)
class RouteKeeper:
    """From watched objects to a configured Envoy.

    Attributes:
        settings: Whose router this is.
        applier: Configures Envoy.
        clock: The wall clock, in Unix seconds.
        accepted: Called with each route that is accepted, before Envoy learns of it.
        served: What Envoy serves; None before anything.
        refused: Refused routes by reason.
        failures: How often Envoy could not be brought to a configuration.
    """

    settings: AgentSettings
    applier: Applier
    clock: Callable[[], float]
    accepted: Callable[[Route, float], None]
    served: Served | None = None
    refused: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    _route: Route | None = None
    _slices: tuple[Object, ...] | None = None
    _kept: Truth | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def resume(self) -> None:
        """Go on with what the process before this one had accepted, if it left anything."""
        self._kept = load(self.settings.truth)
        if self._kept is not None and refusal(self._kept.route, self.settings.rollout_uid, None) is None:
            self._accept(self._kept.route)

    def config_map_changed(self, objects: tuple[Object, ...]) -> None:
        """Take a new view of the rollout's ConfigMap; without one, the last route stays."""
        for item in objects:
            text = (item.get("data") or {}).get(ROUTE_KEY)
            if isinstance(text, str):
                self._consider(text)

    def slices_changed(self, objects: tuple[Object, ...]) -> None:
        """Take a new view of the EndpointSlices."""
        self._slices = objects
        self._changed.set()

    async def run(self) -> None:
        """Bring Envoy to each new truth until cancelled; what fails is tried again."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            truth = self._truth()
            if truth is None or (self.served is not None and self.served.applied.truth == truth):
                continue
            try:
                await self._serve(truth)
            except (AdminError, NotConfirmedError, OSError) as error:
                self.failures += 1
                log.error("Envoy is not configured yet (%s); trying again", type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)
                self._changed.set()

    def _consider(self, text: str) -> None:
        try:
            route = parse_route(text)
        except RouteError as error:
            self._refuse("it is not valid", str(error))
            return
        reason = refusal(route, self.settings.rollout_uid, self._route)
        if reason is not None:
            self._refuse(reason, f"epoch {route.epoch}, sequence {route.sequence}")
        elif route != self._route:
            self._accept(route)

    def _refuse(self, reason: str, detail: str) -> None:
        self.refused[reason] += 1
        log.error("a route is refused, the last one stays: %s (%s)", reason, detail)

    def _accept(self, route: Route) -> None:
        self._route = route
        self.accepted(route, self.clock())
        self._changed.set()

    def _truth(self) -> Truth | None:
        if self._route is None:
            return None
        if self._slices is not None:
            revisions = [arm.revision for arm in self._route.arms]
            return Truth(self._route, ready_endpoints(self._slices, self.settings.rollout, revisions))
        # The API server has not been reached yet: the endpoints that were kept are the best there is.
        return None if self._kept is None else Truth(self._route, self._kept.endpoints)

    async def _serve(self, truth: Truth) -> None:
        save(truth, self.settings.truth)
        applied = await self.applier.apply(truth)
        before = self.served
        same_route = before is not None and before.applied.truth.route == truth.route
        since = before.since if before is not None and same_route else self.clock()
        self.served = Served(applied, since)
        log.info(
            "serving epoch %d, sequence %d: weights %s, endpoints %s",
            truth.route.epoch,
            truth.route.sequence,
            dict(applied.translation.weights),
            dict(applied.translation.ready),
        )
