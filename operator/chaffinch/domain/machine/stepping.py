"""The stage Stepping: the candidate goes through the strategy's steps, one recorded pass at a time.

A step is entered with the pods that it needs warm; then its weight is set; when all routers have
acknowledged that, its clock and its evidence start; when it has passed, that is recorded, and the next
step's pods are added while the weight stays. While it is paused it is judged on, and nothing else moves.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Unpack

from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.rollout import OnFailure
from chaffinch.api.v1alpha1.strategy import ApprovalStep, ProbeStep
from chaffinch.domain.capacity import weight_of_step
from chaffinch.domain.machine.deploying import the_spec_has_moved_on
from chaffinch.domain.machine.ending import missed_objective, rolling_back
from chaffinch.domain.machine.fighting import somebody_fights_for_the_router
from chaffinch.domain.machine.judging import SHORTEST_MAX_WAIT, earliest_end, latest_end
from chaffinch.domain.machine.probing import the_probe_has_no_result, the_probe_is_not_done
from chaffinch.domain.machine.promoting import decided_to_promote
from chaffinch.domain.machine.silence import no_router_answers
from chaffinch.domain.machine.situation import CandidateChanges, Situation
from chaffinch.domain.machine.strength import (
    begun_anew,
    its_pods_keep_crashing,
    lasts,
    stable_is_below_strength,
    the_canary_is_below_strength,
    the_canary_is_lost,
    the_canary_stays_away,
    the_canary_wavers,
)
from chaffinch.domain.machine.types import Next
from chaffinch.domain.machine.unrecorded import after_the_route
from chaffinch.domain.machine.warming import the_warm_up_has_failed
from chaffinch.domain.state import Pause, RolloutState, StepState
from chaffinch.domain.verdict import EvidenceReason, Outcome
from chaffinch.domain.wording import clip

HELD_AT_ONCE = frozenset(
    {EvidenceReason.UNAVAILABLE, EvidenceReason.STALE_DATA, EvidenceReason.NOT_COMPARABLE}
)
"""What is wrong with evidence even before the step's minimum time is over."""
TOO_FEW = frozenset({EvidenceReason.UNDERPOWERED, EvidenceReason.TOO_QUIET, EvidenceReason.BELOW_FLOOR})
"""What only more requests could mend."""


def nothing_could_take_over(situation: Situation) -> Next | None:
    """Stable has no Ready endpoint while the canary serves: traffic never goes where nothing answers."""
    if situation.stable_serves or not situation.serving or situation.candidate.weight == 0:
        return None
    message = "the stable revision has no ready pod; traffic stays as it is"
    state = begun_anew(situation) if lasts(situation, Reason.NO_READY_ENDPOINT) else situation.state
    return situation.held(state, Reason.NO_READY_ENDPOINT, message, None)


def the_verdict_is_fail(situation: Situation) -> Next | None:
    """Evidence proves that the candidate misses an objective: it is rolled back, or a person is asked."""
    message, candidate = missed_objective(situation), situation.candidate
    if message is None:
        return None
    if candidate.plan.on_failure is OnFailure.ROLLBACK:
        return rolling_back(situation, Reason.OBJECTIVE_FAILED, message)
    if candidate.paused is not None and candidate.paused.cause == Reason.OBJECTIVE_FAILED:
        return None
    pause = Pause(situation.now, Reason.OBJECTIVE_FAILED, None, clip(message))
    return situation.wait(_cleared(situation, paused=pause, step=situation.step_as_judged))


def the_step_has_passed(situation: Situation) -> Next | None:
    """The pass is recorded: the next step begins when its pods are warm, or the candidate is promoted."""
    step = situation.step_state
    if step.passed_at is None:
        return None
    index = step.index + 1
    if index >= len(situation.candidate.plan.steps) and not situation.is_paused:
        return decided_to_promote(situation)
    if situation.is_paused or len(situation.serving) < situation.pods_needed(index):
        waiting = situation.wait(_cleared(situation, step=situation.step_as_judged))
        return the_warm_up_has_failed(situation) or waiting
    return situation.at_once(situation.with_candidate(step=StepState(index, situation.now), deadline=None))


def the_weight_is_not_set(situation: Situation) -> Next | None:
    """The step's pods are warm and the candidate has another weight than the step asks for.

    It may have been paused like that; what was counted since then was not counted at the step's weight.
    """
    weight = weight_of_step(situation.step)
    if situation.candidate.weight == weight or situation.is_paused:
        return None
    if not situation.stable_serves:
        message = "the stable revision has no ready pod; the canary gets no traffic before it has"
        return situation.held(situation.state, Reason.NO_READY_ENDPOINT, message, None)
    return situation.at_once(replace(begun_anew(situation, weight=weight), hold=None))


def the_weight_is_not_in_force(situation: Situation) -> Next | None:
    """The routers have not all acknowledged the step's weight: its clock has not started."""
    step = situation.step_state
    if step.acknowledged_at is not None:
        return None
    if situation.in_force:
        clocked = replace(step, acknowledged_at=situation.now)
        return situation.wait(_cleared(situation, step=clocked))
    since = step.restarted_at or step.entered_at
    if situation.now < since + timedelta(seconds=situation.timing.acknowledgement):
        return situation.wait(replace(situation.state, hold=None))
    message = "not every Ready router has the step's weight in force"
    return situation.held(situation.state, Reason.WEIGHT_NOT_OBSERVED, message, since + SHORTEST_MAX_WAIT)


def a_person_is_waited_for(situation: Situation) -> Next | None:
    """It is paused, or at an approval step: it is judged on, but no verdict makes it go on."""
    if not situation.is_paused and not isinstance(situation.step, ApprovalStep):
        return None
    return situation.wait(_cleared(situation, step=situation.step_as_judged))


def the_verdict_is_pass(situation: Situation) -> Next | None:
    """Everything that the step requires is shown, and its minimum time is over."""
    judgement, step = situation.judgement, situation.step_state
    if judgement is None or judgement.outcome is not Outcome.PASS or step.acknowledged_at is None:
        return None
    if situation.now < earliest_end(situation.step, step.acknowledged_at):
        return None
    passed = replace(situation.step_as_judged, passed_at=situation.now)
    deadline = situation.after(situation.candidate.plan.strategy.progress_deadline_seconds)
    return situation.at_once(_cleared(situation, step=passed, deadline=deadline))


def there_is_no_verdict(situation: Situation) -> Next | None:
    """Undecided. Past the minimum time, or when evidence cannot be had, that is a hold; never a rollback."""
    judgement, step = situation.judgement, situation.step_state
    if judgement is None or step.acknowledged_at is None:
        return None
    state = situation.with_candidate(step=situation.step_as_judged)
    early = situation.now < earliest_end(situation.step, step.acknowledged_at)
    if early and judgement.reason not in HELD_AT_ONCE:
        return _measuring(situation, replace(state, hold=None), step.acknowledged_at)
    # No more requests come of a load that has ended: it needs a person now, not when the step's time is over.
    closed = isinstance(situation.step, ProbeStep) and judgement.reason in TOO_FEW
    deadline = situation.now if closed else latest_end(situation.step, step.entered_at, situation.runs)
    return situation.held(state, judgement.reason, judgement.detail, deadline)


CHECKS = after_the_route(
    nothing_could_take_over,
    the_spec_has_moved_on,
    its_pods_keep_crashing,
    somebody_fights_for_the_router,
    the_canary_wavers,
    the_canary_is_lost,
    the_canary_stays_away,
    the_canary_is_below_strength,
    the_verdict_is_fail,
    no_router_answers,
    the_step_has_passed,
    stable_is_below_strength,
    the_weight_is_not_set,
    the_probe_has_no_result,
    the_weight_is_not_in_force,
    the_probe_is_not_done,
    a_person_is_waited_for,
    the_verdict_is_pass,
    there_is_no_verdict,
)


def _measuring(situation: Situation, state: RolloutState, since: datetime) -> Next:
    """Go on as it is; look again when more can have been counted, or when the minimum time is over."""
    rest = (earliest_end(situation.step, since) - situation.now).total_seconds()
    return Next(state, requeue_after=min(situation.timing.measuring, rest))


def _cleared(situation: Situation, **changes: Unpack[CandidateChanges]) -> RolloutState:
    return replace(situation.with_candidate(**changes), hold=None)
