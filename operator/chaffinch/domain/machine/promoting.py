"""The stage Promoting: the decision is made and recorded; the candidate takes over.

Nothing is restarted and no label changes: the same pods that were the canary serve on as stable. Until the
routers send everything to them stable keeps its pods, and a newer spec or the loss of the canary is met as
in a step.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, RolloutStage
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain.machine.ending import became_stable, rolling_back
from chaffinch.domain.machine.failures import failure_at_deadline
from chaffinch.domain.machine.fighting import somebody_fights_for_the_router
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next, WriteOrder
from chaffinch.domain.machine.unrecorded import after_the_route
from chaffinch.domain.machine.warming import the_warm_up_has_failed, warm_up_problem
from chaffinch.domain.route import Decision
from chaffinch.domain.state import RolloutState
from chaffinch.domain.wording import clip


def decided_to_promote(
    situation: Situation, message: str = "every step passed", command: str | None = None
) -> Next:
    """Decide to promote. The status says so before the route does."""
    decision = Decision(DecisionKind.PROMOTE, Reason.AS_EXPECTED, situation.now, clip(message), command)
    deadline = situation.after(situation.candidate.plan.strategy.progress_deadline_seconds)
    state = situation.with_candidate(decision=decision, deadline=deadline, paused=None)
    return situation.at_once(replace(state, stage=RolloutStage.PROMOTING, hold=None))


def may_be_taken_back(situation: Situation) -> bool:
    """Say whether stable can still go on instead: it serves, and the candidate has not all traffic."""
    needs_stable = situation.candidate.weight < FULL_WEIGHT or not situation.serving
    return needs_stable and situation.stable_serves


def something_newer_is_asked_for(situation: Situation) -> Next | None:
    """The spec has moved on before the candidate has all traffic (or when it is lost): stable goes on."""
    if situation.revision == situation.candidate.revision or not may_be_taken_back(situation):
        return None
    return rolling_back(situation, Reason.SUPERSEDED, f"the spec asks for {situation.revision} now")


def the_canary_is_lost(situation: Situation) -> Next | None:
    """No pod of it is Ready: stable gets all traffic if it can take any, and the promotion waits."""
    weight = situation.candidate.weight
    if situation.serving or weight == 0 or (weight == FULL_WEIGHT and not situation.stable_serves):
        return None
    return replace(_awaiting(situation, situation.with_candidate(weight=0)), order=WriteOrder.ROUTE_FIRST)


def pods_are_missing(situation: Situation) -> Next | None:
    """The candidate has not all its pods warm: stable is kept, and traffic stays where it is."""
    candidate = situation.candidate
    needed = situation.pods_needed(len(candidate.plan.steps))
    ready = len(situation.serving)
    if ready >= needed:
        return None
    failure = situation.failure
    if failure is None and candidate.deadline is not None and situation.now >= candidate.deadline:
        failure = failure_at_deadline(situation.children, ready, needed, warm_up_problem(situation))
    if failure is not None:
        return situation.held(situation.state, failure.cause, failure.message, None)
    if ready == 0:
        return _awaiting(situation, situation.state)
    return the_warm_up_has_failed(situation) or situation.wait(replace(situation.state, hold=None))


def _awaiting(situation: Situation, state: RolloutState) -> Next:
    message = "the new revision has no ready pod; it takes over when all of them are ready and warm"
    return situation.held(state, Reason.CANARY_UNAVAILABLE, message, situation.candidate.deadline)


def traffic_is_not_all_its_own(situation: Situation) -> Next | None:
    """All pods are warm and the candidate has less than all traffic: it gets the rest."""
    if situation.candidate.weight == FULL_WEIGHT:
        return None
    return situation.at_once(situation.with_candidate(weight=FULL_WEIGHT))


def routers_have_not_acknowledged(situation: Situation) -> Next | None:
    """A router still routes by an older route: stable must stay until all of them have followed."""
    if situation.in_force:
        return None
    decision = situation.candidate.decision
    patience = timedelta(seconds=situation.timing.acknowledgement)
    if decision is None or situation.now < decision.at + patience:
        return situation.wait()
    message = "not every Ready router sends all requests to the new revision"
    return situation.held(situation.state, Reason.WEIGHT_NOT_OBSERVED, message, situation.candidate.deadline)


def it_has_taken_over(situation: Situation) -> Next | None:
    """All routers send everything to the candidate: it is stable now."""
    decision = situation.candidate.decision
    return situation.at_once(became_stable(situation, decision.message if decision else ""))


CHECKS = after_the_route(
    something_newer_is_asked_for,
    the_canary_is_lost,
    somebody_fights_for_the_router,
    pods_are_missing,
    traffic_is_not_all_its_own,
    routers_have_not_acknowledged,
    it_has_taken_over,
)
