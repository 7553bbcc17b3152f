"""What was measured, as frozen values that a verdict can be reached from.

Evidence is either complete and fresh, or it carries the reason why it is not: there is no value
that could be mistaken for "nothing bad was seen". Counts are whole numbers of requests on the
global grid (:mod:`chaffinch.domain.grid`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from chaffinch.domain.grid import Histogram


class LatencyMetric(StrEnum):
    """The latencies that can be gated."""

    TTFT = "ttft"
    E2E = "e2e"
    TPOT = "tpot"


class Problem(StrEnum):
    """Why evidence cannot be used. The values are reasons of the ``Evidence`` condition."""

    NO_DATA = "NoData"
    STALE_DATA = "StaleData"
    UNAVAILABLE = "EvidenceUnavailable"
    NOT_COMPARABLE = "NotComparable"


@dataclass(frozen=True, slots=True)
class ArmEvidence:
    """What one revision (one arm) did with the requests that it was given.

    Attributes:
        requests: Requests that count for the error rate (finished or timed out; not client errors).
        errors: Those of them that failed.
        latencies: One histogram per latency metric; a failed request counts as +infinity in it.
        edges: Per latency metric the rising grid indices at which the source really counted; a source
            that counts coarsely books everything between two of them into the upper one's bucket.
            A metric that is not named was counted at every edge.
        left: Per latency metric how long clients waited for it who then left. Those requests are not in
            ``latencies``: they took longer than that, and nobody knows how long.
    """

    requests: int
    errors: int
    latencies: dict[LatencyMetric, Histogram] = field(default_factory=dict)
    edges: dict[LatencyMetric, tuple[int, ...]] = field(default_factory=dict)
    left: dict[LatencyMetric, Histogram] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse counts that cannot be."""
        if not 0 <= self.errors <= self.requests:
            raise ValueError(f"{self.errors} errors of {self.requests} requests cannot be")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of one step: both arms over the same span of time.

    Attributes:
        candidate: The canary's arm.
        control: The arm to compare with: stable on live traffic; None in a probe without control.
        until: The end of the newest block that is counted; evidence ages from here.
    """

    candidate: ArmEvidence
    control: ArmEvidence | None
    until: datetime


@dataclass(frozen=True, slots=True)
class NoEvidence:
    """Evidence could not be had, and why. Never a pass.

    Attributes:
        problem: The reason.
        detail: A fixed text of our own that says which check failed; never a remote body.
    """

    problem: Problem
    detail: str
