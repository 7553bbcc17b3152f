"""The statuses that a LoadProbe can have, one function each: pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from chaffinch.api.v1alpha1.common import Condition, ConditionStatus
from chaffinch.api.v1alpha1.probe import LoadProbeStatus, ProbePhase, ProbeProgress, ProbeResult
from chaffinch.api.v1alpha1.reasons import Reason

COMPLETE = "Complete"
"""Condition: True once there is a result, False when there will never be one, Unknown until then."""
FROZEN = "Frozen"
"""Condition: True once the result is kept as a baseline, False if it cannot be."""

TERMINAL = frozenset({ProbePhase.SUCCEEDED, ProbePhase.FAILED})
_LONGEST_MESSAGE = 512


@dataclass(frozen=True, slots=True)
class Moment:
    """When a status is made, and of which generation of the spec."""

    now: datetime
    generation: int


def waiting(before: LoadProbeStatus, at: Moment, message: str) -> LoadProbeStatus:
    """Nothing runs yet, and why."""
    return _with(before, at, ProbePhase.PENDING, _complete(Reason.IN_PROGRESS, message))


def started(before: LoadProbeStatus, at: Moment, revision: str, seconds: int) -> LoadProbeStatus:
    """The Job is there, and may take so long."""
    condition = _complete(Reason.IN_PROGRESS, f"The load on {revision} is being started.")
    deadline = at.now + timedelta(seconds=seconds)
    return _with(before, at, ProbePhase.PENDING, condition, revision=revision, deadline=deadline)


def running(before: LoadProbeStatus, at: Moment, pod_uid: str, progress: ProbeProgress) -> LoadProbeStatus:
    """The worker works."""
    condition = _complete(Reason.IN_PROGRESS, f"The load on {before.revision} is running.")
    return _with(
        before,
        at,
        ProbePhase.RUNNING,
        condition,
        pod_uid=pod_uid,
        progress=progress,
        started_at=before.started_at or at.now,
    )


def failed(before: LoadProbeStatus, at: Moment, reason: Reason, message: str) -> LoadProbeStatus:
    """There is no result, and there will be none."""
    condition = _complete(reason, message, done=False)
    return _with(before, at, ProbePhase.FAILED, condition, finished_at=at.now, progress=None)


def succeeded(
    before: LoadProbeStatus, at: Moment, pod_uid: str, result: ProbeResult, message: str
) -> LoadProbeStatus:
    """There is a result."""
    return _with(
        before,
        at,
        ProbePhase.SUCCEEDED,
        _complete(Reason.AS_EXPECTED, message, done=True),
        pod_uid=pod_uid,
        result=result,
        started_at=before.started_at or at.now,
        finished_at=at.now,
        progress=None,
    )


def frozen(
    before: LoadProbeStatus, at: Moment, *, done: bool, reason: Reason, message: str
) -> LoadProbeStatus:
    """The result was kept as a baseline, or cannot be."""
    status = ConditionStatus.TRUE if done else ConditionStatus.FALSE
    return _with(before, at, before.phase, (FROZEN, status, reason, message))


def condition_of(status: LoadProbeStatus, kind: str) -> Condition | None:
    """Return a condition by type."""
    return next((condition for condition in status.conditions if condition.type == kind), None)


_Draft = tuple[str, ConditionStatus, Reason, str]


def _complete(reason: Reason, message: str, *, done: bool | None = None) -> _Draft:
    status = {True: ConditionStatus.TRUE, False: ConditionStatus.FALSE, None: ConditionStatus.UNKNOWN}[done]
    return COMPLETE, status, reason, message


def _with(
    before: LoadProbeStatus, at: Moment, phase: ProbePhase | None, draft: _Draft, **changes: object
) -> LoadProbeStatus:
    kind, status, reason, message = draft
    old = condition_of(before, kind)
    condition = Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message[:_LONGEST_MESSAGE],
        observed_generation=at.generation,
        last_transition_time=old.last_transition_time if old and old.status == status else at.now,
    )
    others = tuple(kept for kept in before.conditions if kept.type != kind)
    update = {"observed_generation": at.generation, "phase": phase, "conditions": (*others, condition)}
    return before.model_copy(update={**update, **changes})
