"""Somebody else who writes the objects of a rollout's router: a GitOps tool, an autoscaler, a script."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain.route import RouteArm, StoredRoute


@dataclass
class OtherWriter:
    """Looks at one object every so often, and makes it what it wants if it is not.

    Attributes:
        object: ``Kind/name``.
        every: Seconds between two looks.
        name: What it calls itself.
    """

    object: str
    every: float
    name: str = "gitops"
    _next: datetime | None = None

    def is_due(self, now: datetime) -> bool:
        """Say whether it looks now."""
        if self._next is not None and now < self._next:
            return False
        self._next = now + timedelta(seconds=self.every)
        return True

    def other_route(self, route: StoredRoute, now: datetime) -> StoredRoute:
        """Return the route as it wants it: the last revision has all traffic, a lone one none."""
        *others, last = route.intent.arms
        rest = tuple(RouteArm(each.revision, 0, each.pods) for each in others)
        arms = (*rest, replace(last, weight=FULL_WEIGHT if rest else 0))
        version = f"{route.resource_version}-{now:%H%M%S}"
        return replace(route, resource_version=version, intent=replace(route.intent, arms=arms))
