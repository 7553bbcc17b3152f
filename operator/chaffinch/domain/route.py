"""What the router shall do, in the domain's own words.

The routing package turns a :class:`RouteIntent` into its ``route.json`` and back. An intent is
compared by content: only a change of content gets a new sequence number, so that a pass that
wants what is already stored writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from chaffinch.api.v1alpha1.attempt_status import DecisionKind

EndKind = Literal[DecisionKind.PROMOTE, DecisionKind.ROLLBACK]
"""The decisions that end an attempt; a pause does not, and is no part of a route."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The end of an attempt. A rollback is never taken back; a promotion only while stable has traffic.

    Attributes:
        kind: Promote or roll back.
        cause: A reason of the ``Promoted`` condition; ``AsExpected`` of a promotion.
        at: When it was decided.
        message: Why, with numbers, at most 300 characters. Not part of the route.
        command: Name of the RolloutCommand by which a person decided it, if one did. Not part of the route.
    """

    kind: EndKind
    cause: str
    at: datetime
    message: str = ""
    command: str | None = None


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """A decision as the route carries it: the act and its log are one write."""

    kind: EndKind
    cause: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RouteArm:
    """One revision's share of the traffic.

    Attributes:
        revision: 8 hexadecimal digits.
        weight: Ten-thousandths of all traffic.
        pods: Names of the pods that may get traffic, sorted; None admits every Ready endpoint.
    """

    revision: str
    weight: int
    pods: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RouteIntent:
    """The content of a route. Weights of all arms add up to 10,000, or all are 0.

    Attributes:
        attempt: The attempt that evidence is booked for.
        stable: The revision that traffic falls back to; None before the first one serves.
        arms: Stable first, then the candidate.
        decision: The attempt's end, once it is decided.
        ttft_edges: Indices of the global grid that the TTFT histogram exports.
        e2e_edges: The same for the end-to-end latency.
    """

    attempt: int
    stable: str | None
    arms: tuple[RouteArm, ...]
    decision: RouteDecision | None
    ttft_edges: tuple[int, ...] = ()
    e2e_edges: tuple[int, ...] = ()

    def weight_of(self, revision: str) -> int:
        """Return a revision's weight; 0 if the route doesn't know it."""
        return next((arm.weight for arm in self.arms if arm.revision == revision), 0)


@dataclass(frozen=True, slots=True)
class StoredRoute:
    """A route as the ConfigMap holds it.

    Attributes:
        epoch: The lease epoch of the operator process that wrote it, or a higher one that was in use.
        sequence: Rises with each write of new content, over all epochs.
        resource_version: The ConfigMap's; every write of the route is compared with it.
        intent: The content.
    """

    epoch: int
    sequence: int
    resource_version: str
    intent: RouteIntent


@dataclass(frozen=True, slots=True)
class RouteOrder:
    """A route to be written, or to be left alone when ``sequence`` is the stored one's.

    Attributes:
        intent: The content.
        sequence: The stored sequence if the content is stored already, else a new, higher one.
        resource_version: What the ConfigMap must still have; None if it must not exist yet.
        changed: Whether it has to be written.
        epoch: The highest epoch that anyone knows of. It is written, unless the writer's own is higher.
    """

    intent: RouteIntent
    sequence: int
    resource_version: str | None
    changed: bool
    epoch: int = 0
