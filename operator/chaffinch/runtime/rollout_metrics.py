"""What is published of each rollout: what its status says, as numbers that can be alerted on.

The series of a rollout are replaced as a whole by each pass and withdrawn when it is gone. Their labels are
names of objects, revisions that exist, and words of closed lists, so that each rollout has a few dozen of
them at most. A pass touches only its own rollout's series, however many others there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, Outcome, RolloutStage
from chaffinch.api.v1alpha1.status import RolloutStatus, TrafficStatus
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain.evidence import Evidence, NoEvidence
from chaffinch.meters import Meters

ROLLOUT = ("rollout_namespace", "rollout")
READ = "Read"
"""What evidence is called that could be used; otherwise the reason why not."""

_OBJECTIVE = "chaffinch_objective_value"
_EVIDENCE_SUCCESS = "chaffinch_rollout_evidence_success_timestamp_seconds"
_GAUGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "chaffinch_rollout_phase": ("1 for its phase.", ("phase",)),
    "chaffinch_rollout_stage": ("1 for its stage.", ("stage",)),
    "chaffinch_rollout_condition": (
        "1 for each condition, with the status and the reason that it has.",
        ("type", "status", "reason"),
    ),
    "chaffinch_rollout_revision_info": ("1 for the revision of each arm.", ("arm", "revision")),
    "chaffinch_rollout_desired_replicas": ("Engine pods that an arm should have.", ("arm",)),
    "chaffinch_rollout_ready_replicas": ("Engine pods of an arm that are ready.", ("arm",)),
    "chaffinch_rollout_canary_weight_ratio": ("Share of the traffic for the canary.", ()),
    "chaffinch_rollout_routers_ready": ("Router pods that are ready.", ()),
    "chaffinch_rollout_route_sequence": ("Number of the newest route.", ()),
    "chaffinch_rollout_route_lag_seconds": (
        "For how long a ready router has not acknowledged the newest route; 0 when all have.",
        (),
    ),
    "chaffinch_rollout_rollback_unacknowledged": (
        "1 while a rollback is decided that some ready router has not acknowledged.",
        (),
    ),
    "chaffinch_rollout_hold_since_timestamp_seconds": (
        "Since when the rollout waits at its step, and why; absent while it does not.",
        ("reason",),
    ),
    "chaffinch_rollout_evidence": (
        "1 for the result of the newest reading of evidence, `Read` or why not; absent while none is needed.",
        ("result",),
    ),
    _EVIDENCE_SUCCESS: (
        "When evidence was read last; absent while none is needed.",
        (),
    ),
    _OBJECTIVE: (
        "Newest value: seconds of a latency, a share of an error rate.",
        ("objective", "arm"),
    ),
}
"""Meaning and own labels of each gauge; all have the labels of the rollout as well."""

_Series = tuple[str, tuple[str, ...]]
"""Name of the gauge, values of its own labels."""
_Samples = dict[_Series, float]


@dataclass(frozen=True, slots=True)
class ObjectiveFigure:
    """The newest figures of one objective: seconds of a latency, a share of an error rate, or unknown."""

    objective: str
    value: float | None
    control: float | None


@dataclass(frozen=True, slots=True)
class RolloutFigures:
    """What is published of a rollout after a pass.

    Attributes:
        status: What the pass has come to.
        now: The time of the pass.
        objectives: The newest figures; none leaves the ones before.
        evidence: What was read, or why nothing could be; None if nothing was asked for.
    """

    status: RolloutStatus
    now: datetime
    objectives: tuple[ObjectiveFigure, ...] = ()
    evidence: Evidence | NoEvidence | None = None


@dataclass(slots=True)
class _Memory:
    """What is known of one rollout from the passes before.

    Attributes:
        samples: What is published.
        lag_since: Since when the newest route is not acknowledged by all.
        rolled_back: The newest attempt whose rollback all ready routers have acknowledged.
        ends: Outcome and cause of attempts that were counted.
        had_pass: Whether it was said how the newest pass over it went.
    """

    samples: _Samples = field(default_factory=dict)
    lag_since: datetime | None = None
    rolled_back: int = 0
    ends: set[tuple[str, str]] = field(default_factory=set)
    had_pass: bool = False


class RolloutMetrics:
    """Publishes the figures of all rollouts."""

    def __init__(self, meters: Meters) -> None:
        self._gauges = {
            name: meters.gauge(name, meaning, *ROLLOUT, *labels)
            for name, (meaning, labels) in _GAUGES.items()
        }
        self._attempts = meters.counter(
            "chaffinch_rollout_attempts_total",
            "Attempts that ended, by outcome and cause: promotions, rollbacks, changes of mind.",
            *ROLLOUT,
            "outcome",
            "cause",
        )
        self._failed = meters.gauge(
            "chaffinch_rollout_pass_failed", "1 if the newest pass over the rollout failed.", *ROLLOUT
        )
        self._memories: dict[tuple[str, str], _Memory] = {}

    def publish(self, namespace: str, name: str, figures: RolloutFigures) -> None:
        """Replace the series of a rollout."""
        memory = self._memories.setdefault((namespace, name), _Memory())
        samples = {
            **dict(_samples(figures)),
            **_kept(memory.samples, figures),
            **_of_route(memory, figures),
        }
        for (gauge, labels), value in samples.items():
            if memory.samples.get((gauge, labels)) != value:
                self._gauges[gauge].labels(namespace, name, *labels).set(value)
        for gauge, labels in memory.samples.keys() - samples.keys():
            self._gauges[gauge].remove(namespace, name, *labels)
        memory.samples = samples

    def ended(self, namespace: str, name: str, outcome: Outcome, cause: str) -> None:
        """Count an attempt that ended."""
        self._memories.setdefault((namespace, name), _Memory()).ends.add((outcome.value, cause))
        self._attempts.labels(namespace, name, outcome.value, cause).inc()

    def had_pass(self, namespace: str, name: str, *, failed: bool) -> None:
        """Say whether the newest pass over a rollout failed."""
        self._memories.setdefault((namespace, name), _Memory()).had_pass = True
        self._failed.labels(namespace, name).set(failed)

    def forget(self, namespace: str, name: str) -> None:
        """Withdraw everything that was published of a rollout."""
        memory = self._memories.pop((namespace, name), _Memory())
        for gauge, labels in memory.samples:
            self._gauges[gauge].remove(namespace, name, *labels)
        for end in memory.ends:
            self._attempts.remove(namespace, name, *end)
        if memory.had_pass:
            self._failed.remove(namespace, name)


def _samples(figures: RolloutFigures) -> Iterator[tuple[_Series, float]]:
    """What the pass itself says, without what came before."""
    status = figures.status
    yield ("chaffinch_rollout_phase", (status.phase.value if status.phase else "",)), 1
    stage = status.rollout.stage if status.rollout else RolloutStage.IDLE
    yield ("chaffinch_rollout_stage", (stage.value,)), 1
    for each in status.conditions:
        yield ("chaffinch_rollout_condition", (each.type, each.status.value, each.reason)), 1
    for arm, pods in (("stable", status.stable), ("candidate", status.candidate)):
        if pods is not None:
            yield ("chaffinch_rollout_revision_info", (arm, pods.revision)), 1
            yield ("chaffinch_rollout_desired_replicas", (arm,)), pods.replicas
            yield ("chaffinch_rollout_ready_replicas", (arm,)), pods.ready
    if status.rollout is not None and (hold := status.rollout.hold) is not None:
        yield ("chaffinch_rollout_hold_since_timestamp_seconds", (hold.reason,)), hold.since.timestamp()
    yield from _of_traffic(status.traffic)
    if figures.evidence is not None:
        read = isinstance(figures.evidence, Evidence)
        yield ("chaffinch_rollout_evidence", (result_of(figures.evidence),)), 1
        if read:
            yield (_EVIDENCE_SUCCESS, ()), figures.now.timestamp()
    for figure in figures.objectives:
        for arm, value in (("candidate", figure.value), ("control", figure.control)):
            yield (_OBJECTIVE, (figure.objective, arm)), math.nan if value is None else value


def _of_traffic(traffic: TrafficStatus | None) -> Iterator[tuple[_Series, float]]:
    weight = traffic.weight.desired if traffic and traffic.weight else 0
    yield ("chaffinch_rollout_canary_weight_ratio", ()), weight / FULL_WEIGHT
    if traffic is not None:
        yield ("chaffinch_rollout_routers_ready", ()), traffic.routers or 0
        yield ("chaffinch_rollout_route_sequence", ()), traffic.sequence


def result_of(evidence: Evidence | NoEvidence) -> str:
    """Say in one word what became of a reading: ``Read``, or the reason why it cannot be used."""
    return evidence.problem.value if isinstance(evidence, NoEvidence) else READ


def _kept(samples: _Samples, figures: RolloutFigures) -> _Samples:
    """What stays as it was because this pass says nothing newer of it."""
    stays = set()
    if not figures.objectives:
        stays.add(_OBJECTIVE)
    if isinstance(figures.evidence, NoEvidence):
        stays.add(_EVIDENCE_SUCCESS)
    return {series: value for series, value in samples.items() if series[0] in stays}


def _of_route(memory: _Memory, figures: RolloutFigures) -> _Samples:
    """How far the routers are behind; takes note of this pass."""
    traffic = figures.status.traffic
    if traffic is None:
        return {}
    in_force = not traffic.routers or traffic.acknowledged == traffic.sequence
    memory.lag_since = None if in_force else memory.lag_since or figures.now
    lag = (figures.now - memory.lag_since).total_seconds() if memory.lag_since else 0.0
    attempt = _rolled_back_attempt(figures.status)
    if in_force:
        # Later silence of a router is another matter: the rollback itself has arrived everywhere.
        memory.rolled_back = max(memory.rolled_back, attempt)
    return {
        ("chaffinch_rollout_route_lag_seconds", ()): lag,
        ("chaffinch_rollout_rollback_unacknowledged", ()): float(attempt > memory.rolled_back),
    }


def _rolled_back_attempt(status: RolloutStatus) -> int:
    """Return the attempt that is being rolled back, or was the last one and rolled back; else 0."""
    progress, last = status.rollout, status.last_attempt
    if progress is not None:
        decision = progress.decision
        rolls_back = decision is not None and decision.kind is DecisionKind.ROLLBACK
        return status.candidate.attempt if rolls_back and status.candidate else 0
    return last.attempt if last is not None and last.outcome is not Outcome.PROMOTED else 0
