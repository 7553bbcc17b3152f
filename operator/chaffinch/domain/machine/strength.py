"""Keeps a step from being judged while either revision is not at full strength.

A step's weight is chosen for the pods of both revisions. When some of them are gone the others carry more
than their share, and the figures speak of that. A pod that only is not Ready for a moment, in the same
container, delays the verdict; anything longer begins the step's clock and evidence anew. The time that a
step may take goes on all the while, and so does the time in which lost pods have to be back: a canary
that comes and goes gets no more of it than one that stays away.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Unpack

from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.strategy import ApprovalStep, CanaryStep, ProbeStep
from chaffinch.domain.capacity import attempt_replicas
from chaffinch.domain.machine.ending import rolling_back
from chaffinch.domain.machine.failures import Failure, endless_failure_of, failure_at_deadline
from chaffinch.domain.machine.judging import latest_end
from chaffinch.domain.machine.situation import CandidateChanges, Situation
from chaffinch.domain.machine.types import Next, WriteOrder
from chaffinch.domain.machine.warming import warm_up_problem
from chaffinch.domain.observation import Pod
from chaffinch.domain.state import RolloutState, StepState


def its_pods_keep_crashing(situation: Situation) -> Next | None:
    """A crash loop, or nodes that turn pods away. Both are counted: readiness in between hides nothing."""
    since = situation.candidate.started_at
    failure = endless_failure_of(situation.children, since, situation.timing)
    return None if failure is None else rolling_back(situation, failure.cause, failure.message)


def the_canary_wavers(situation: Situation) -> Next | None:
    """Canary pods are not Ready, for a moment so far: nothing is judged before it is clear why."""
    needed, ready = situation.pods_needed(situation.step_state.index), len(situation.serving)
    if ready >= needed or len(situation.candidate.warmed) < needed:
        return None
    if lasts(situation, Reason.CANARY_UNAVAILABLE):
        return None
    message = f"{ready} of {needed} canary pods are ready; nothing is judged meanwhile"
    return situation.held(situation.state, Reason.CANARY_UNAVAILABLE, message, None)


def the_canary_is_lost(situation: Situation) -> Next | None:
    """No canary pod is Ready. The routers have dropped it already; its evidence and clock start anew.

    Nothing may stand between that and the route, so that it does not come back by itself, cold.
    """
    if situation.serving or situation.candidate.weight == 0:
        return None
    deadline = _back_by(situation)
    state = begun_anew(situation, weight=0, deadline=deadline)
    message = "the canary has no ready pod; it gets traffic again when one is ready and warm"
    held = situation.held(state, Reason.CANARY_UNAVAILABLE, message, deadline)
    return replace(held, order=WriteOrder.ROUTE_FIRST)


def the_canary_stays_away(situation: Situation) -> Next | None:
    """Pods that were lost, or that the next step needs, did not become ready and warm in time."""
    step = situation.step_state
    needed = situation.pods_needed(step.index if step.passed_at is None else step.index + 1)
    missing = len(situation.serving) < needed
    if not missing or situation.candidate.deadline is None or situation.now < _back_by(situation):
        return None
    failure = _failure(situation, needed)
    return rolling_back(situation, failure.cause, failure.message)


def the_canary_is_below_strength(situation: Situation) -> Next | None:
    """Some canary pods are gone: the rest carries more than its share, so nothing is judged meanwhile."""
    needed = situation.pods_needed(situation.step_state.index)
    ready = len(situation.serving)
    if ready >= needed:
        return None
    deadline = _back_by(situation)
    state = begun_anew(situation, deadline=deadline)
    message = f"{ready} of {needed} canary pods are ready and warm; the step's clock waits for all"
    problem = warm_up_problem(situation)
    if problem is not None:
        message = f"{message}. {problem}"
    return situation.held(state, Reason.CANARY_UNAVAILABLE, message, deadline)


def stable_is_below_strength(situation: Situation) -> Next | None:
    """Stable lacks pods, or has started some anew: it is not what the canary is to be compared with."""
    if not isinstance(situation.step, CanaryStep) or not situation.stable_serves:
        return None
    needed = attempt_replicas(situation.spec, situation.state, situation.seen)
    ready = situation.stable_serving
    fresh = [pod for pod in ready if _started_since(pod, situation.step_state.acknowledged_at)]
    if len(ready) >= needed and not fresh:
        return None
    message = f"{len(ready)} of {needed} pods of stable are ready; the step's clock waits for all"
    if fresh:
        message = f"pod {fresh[0].name} of stable was started anew, and so is the step's clock"
    state = situation.state
    if fresh or lasts(situation, Reason.STABLE_UNDERSIZED):
        state = begun_anew(situation)
    deadline = latest_end(situation.step, situation.step_state.entered_at)
    return situation.held(state, Reason.STABLE_UNDERSIZED, message, deadline)


def begun_anew(situation: Situation, **changes: Unpack[CandidateChanges]) -> RolloutState:
    """Return the state with the step begun anew: no clock, no pass, nothing judged yet, no run of a probe.

    When the step was entered first, and what it may take in all, stays as it is; so does a person's approval.
    """
    step = situation.step_state
    if step.acknowledged_at is not None:
        changes["step"] = StepState(
            index=step.index,
            entered_at=step.entered_at,
            passed_at=step.passed_at if isinstance(situation.step, ApprovalStep) else None,
            run=step.run + 1 if isinstance(situation.step, ProbeStep) else step.run,
            runs_before=step.runs_before,
            restarted_at=situation.now,
        )
    return situation.with_candidate(**changes)


def with_all_its_time(situation: Situation) -> StepState:
    """Return the step as it was when it was entered: a person has it begin anew, with new evidence."""
    step = situation.step_state
    measures = isinstance(situation.step, ProbeStep)
    return StepState(
        index=step.index,
        entered_at=situation.now,
        run=step.run + 1 if measures else step.run,
        runs_before=step.run if measures else step.runs_before,
        restarted_at=situation.now,
    )


def lasts(situation: Situation, reason: Reason) -> bool:
    """Say whether a hold for a reason has lasted longer than a moment."""
    hold = situation.state.hold
    if hold is None or hold.reason != reason:
        return False
    return situation.now >= hold.since + timedelta(seconds=situation.timing.moment)


def _back_by(situation: Situation) -> datetime:
    """Return when the canary's pods must be there.

    There is new time for that only if they have all been there, on the step's clock, for as long as they
    may be away, and only while the step has time left itself.
    """
    candidate, step = situation.candidate, situation.step_state
    patience = timedelta(seconds=candidate.plan.strategy.progress_deadline_seconds)
    if candidate.deadline is None:
        return situation.now + patience
    if step.acknowledged_at is None or step.passed_at is not None:
        return candidate.deadline
    stayed = situation.now >= step.acknowledged_at + patience
    has_time = situation.now < latest_end(situation.step, step.entered_at, situation.runs)
    return situation.now + patience if stayed and has_time else candidate.deadline


def _failure(situation: Situation, needed: int) -> Failure:
    """Return why pods are missing, without blame for what their revision has shown that it can do."""
    problem = warm_up_problem(situation)
    failure = failure_at_deadline(situation.children, len(situation.serving), needed, problem)
    blameless = {Reason.IMAGE_PULL}  # others of its pods have run with this image
    if situation.step_state.passed_at is None:
        blameless.add(Reason.PROGRESS_DEADLINE_EXCEEDED)
    paused = situation.candidate.paused
    if paused is not None and paused.cause == Reason.OBJECTIVE_FAILED:
        return Failure(Reason.OBJECTIVE_FAILED, f"{paused.message}; then its pods stayed away")
    cause = Reason.CANARY_UNAVAILABLE if failure.cause in blameless else failure.cause
    return Failure(cause, failure.message)


def _started_since(pod: Pod, moment: datetime | None) -> bool:
    return moment is not None and pod.started is not None and pod.started > moment
