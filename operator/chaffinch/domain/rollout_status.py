"""Puts a rollout's status together: the state machine's memory, the figures that people read, conditions."""

from __future__ import annotations

from datetime import datetime

from chaffinch.api.v1alpha1.attempt_status import (
    BaselineStatus,
    CandidateStatus,
    LastAttempt,
    RolloutProgress,
    WarmUpStatus,
)
from chaffinch.api.v1alpha1.common import Condition, ConditionStatus
from chaffinch.api.v1alpha1.names import record_name
from chaffinch.api.v1alpha1.reasons import ConditionType, Reason
from chaffinch.api.v1alpha1.status import Phase, RolloutStatus, StableStatus, TrafficStatus, WeightStatus
from chaffinch.api.v1alpha1.step_status import ObjectiveStatus, StepStatus
from chaffinch.api.v1alpha1.strategy import CanaryStep
from chaffinch.domain.capacity import candidate_pods, stable_pods, weight_of_step
from chaffinch.domain.conditions import conditions_of, invalid_spec_conditions
from chaffinch.domain.conditions.view import View
from chaffinch.domain.intent import highest_sequence, route_order
from chaffinch.domain.machine.judging import earliest_end
from chaffinch.domain.manifests.common import engine_selector
from chaffinch.domain.objectives import StepClock, objectives_status
from chaffinch.domain.state import Candidate, RolloutState, WarmUp
from chaffinch.domain.status_codec import (
    last_command_status,
    pod_storms_status,
    progress_status,
    router_edits_status,
    step_status,
    warm_pods_status,
)
from chaffinch.domain.wording import ready_pods

_A_PERSON_IS_ASKED = frozenset({Reason.PAUSED, Reason.AWAITING_APPROVAL})


def status_of(view: View, generation: int, previous: RolloutStatus | None) -> RolloutStatus:
    """Return the status that a pass has come to.

    A pass that could not read everything knows nothing new: what is stored stays as it is.

    Args:
        view: The spec, what was decided, seen and judged, and when.
        generation: The spec's generation.
        previous: The stored status.
    """
    before, state = previous or RolloutStatus(), view.state
    if view.seen.problems:
        return before
    conditions = conditions_of(view, before.conditions, generation)
    return before.model_copy(
        update={
            "observed_generation": generation,
            "phase": _phase(conditions),
            "replicas": _replicas(view),
            "selector": _selector(view),
            "stable": _stable(view),
            "candidate": _candidate(view),
            "rollout": _progress(view),
            "attempts": state.attempts,
            "last_attempt": _last_attempt(state),
            "last_command": last_command_status(state.last_command),
            "failed_revisions": state.failed,
            "traffic": _traffic(view),
            "router_edits": router_edits_status(state.router_edits),
            "pod_storms": pod_storms_status(state.storms),
            "objectives": _objectives(before, view),
            "baseline": _baseline(before, state),
            "conditions": conditions,
        }
    )


def invalid_spec_status(
    field: str,
    message: str,
    generation: int,
    previous: RolloutStatus | None,
    now: datetime,
    *,
    goes_on: bool = False,
) -> RolloutStatus:
    """Return the status of a rollout whose spec breaks a rule; what is remembered stays as it is.

    Args:
        field: The path of the field.
        message: The rule and the remedy.
        generation: The spec's generation.
        previous: The stored status; that of this pass if the attempt goes on.
        now: The time.
        goes_on: Whether an attempt goes on as it began.
    """
    before = previous or RolloutStatus()
    conditions = invalid_spec_conditions(field, message, before.conditions, generation, now, goes_on=goes_on)
    return before.model_copy(
        update={
            "observed_generation": generation,
            "phase": Phase.DEGRADED,
            "conditions": conditions,
        }
    )


def asked_for(status: RolloutStatus | None) -> int | None:
    """Return how many pods who serves, or will first, should have by a stored status; None if unknown."""
    arm = status and (status.stable or status.candidate)
    return arm.replicas if arm else None


def _phase(conditions: tuple[Condition, ...]) -> Phase:
    holds = {each.type: each.reason for each in conditions if each.status is ConditionStatus.TRUE}
    if ConditionType.STALLED in holds:
        return Phase.DEGRADED
    if ConditionType.READY in holds:
        return Phase.HEALTHY
    if holds.get(ConditionType.RECONCILING) in _A_PERSON_IS_ASKED:
        return Phase.PAUSED
    return Phase.PROGRESSING if ConditionType.RECONCILING in holds else Phase.DEGRADED


def _replicas(view: View) -> int:
    serving = view.serving_revision
    return view.seen.revision(serving).desired_replicas or 0 if serving else 0


def _selector(view: View) -> str | None:
    revision = view.serving_revision or (view.state.candidate.revision if view.state.candidate else None)
    if revision is None:
        return None
    return ",".join(f"{k}={v}" for k, v in engine_selector(view.seen.rollout.name, revision).items())


def _stable(view: View) -> StableStatus | None:
    stable = view.state.stable
    if stable is None:
        return None
    return StableStatus(
        revision=stable.revision,
        since=stable.since,
        replicas=stable_pods(view.spec, view.state, view.seen),
        ready=ready_pods(view.seen, stable.revision),
    )


def _candidate(view: View) -> CandidateStatus | None:
    candidate = view.state.candidate
    if candidate is None:
        return None
    warm_up = candidate.warm_up
    return CandidateStatus(
        revision=candidate.revision,
        attempt=candidate.attempt,
        replicas=candidate_pods(view.spec, view.state, view.seen),
        ready=ready_pods(view.seen, candidate.revision),
        warm=warm_pods_status(candidate.warmed),
        warm_up=_warm_up(warm_up) if warm_up else None,
        warm_ups=candidate.warm_ups or None,
    )


def _warm_up(warm_up: WarmUp) -> WarmUpStatus:
    return WarmUpStatus(
        serial=warm_up.serial,
        pods=warm_pods_status(warm_up.pods),
        failures=warm_up.failures or None,
    )


def _progress(view: View) -> RolloutProgress | None:
    candidate = view.state.candidate
    if candidate is None:
        return None
    record = record_name(view.seen.rollout.name, candidate.revision, attempt=candidate.attempt)
    return progress_status(view.state, candidate, _step(candidate)).model_copy(update={"record": record})


def _step(candidate: Candidate) -> StepStatus | None:
    at = candidate.step
    if at is None:
        return None
    step = candidate.plan.steps[at.index]
    return step_status(candidate, at, step.name).model_copy(
        update={
            "require": step.require if isinstance(step, CanaryStep) else None,
            "earliest_end": earliest_end(step, at.acknowledged_at) if at.acknowledged_at else None,
        }
    )


def _last_attempt(state: RolloutState) -> LastAttempt | None:
    last = state.last_attempt
    if last is None:
        return None
    return LastAttempt(
        revision=last.revision,
        attempt=last.attempt,
        outcome=last.outcome,
        cause=last.cause,
        at=last.ended_at,
        decided_at=last.decided_at,
        again_at=last.again_at,
        message=last.message,
    )


def _traffic(view: View) -> TrafficStatus:
    routers = view.seen.router.ready_pods
    known = [pod.acknowledgement.sequence for pod in routers if pod.acknowledgement]
    return TrafficStatus(
        sequence=_sequence(view),
        acknowledged=min(known) if routers and len(known) == len(routers) else None,
        routers=len(routers),
        weight=_weight(view),
    )


def _sequence(view: View) -> int:
    # A route that is not written uses no number up; else each pass would have a new status to record.
    if not view.acts:
        return highest_sequence(view.state, view.seen)
    return route_order(view.spec, view.state, view.seen).sequence


def _weight(view: View) -> WeightStatus | None:
    candidate = view.state.candidate
    if candidate is None:
        return None
    routers = view.seen.router.ready_pods
    observed = {
        pod.acknowledgement.weights.get(candidate.revision, 0) for pod in routers if pod.acknowledgement
    }
    return WeightStatus(
        step=weight_of_step(candidate.plan.steps[candidate.step.index]) if candidate.step else 0,
        desired=candidate.weight,
        observed=observed.pop() if len(observed) == 1 else None,
    )


def _objectives(before: RolloutStatus, view: View) -> tuple[ObjectiveStatus, ...]:
    """Return the newest figures: those of this pass, else those that are stored.

    An attempt that has entered no step has none; those of the attempt before it are not its own.
    """
    candidate, judgement = view.state.candidate, view.judgement
    if candidate is not None and candidate.step is None:
        return ()
    if judgement is None or not judgement.verdicts or candidate is None or candidate.step is None:
        return before.objectives
    clock = StepClock(candidate.step.acknowledged_at, view.now)
    return objectives_status(judgement.verdicts, candidate.plan.steps[candidate.step.index].name, clock)


def _baseline(before: RolloutStatus, state: RolloutState) -> BaselineStatus | None:
    """Return the baseline that the attempt is pinned to; after the attempt, the one that it was."""
    if state.candidate is None:
        return before.baseline
    frozen = state.candidate.plan.baseline
    return BaselineStatus(name=frozen.name, uid=frozen.uid, digest=frozen.digest) if frozen else None
