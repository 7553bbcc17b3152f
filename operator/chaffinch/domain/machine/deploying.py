"""The stage Deploying: the candidate's first pods are started and warmed; it has no weight yet."""

from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.capacity import first_step
from chaffinch.domain.machine.ending import became_stable, rolling_back
from chaffinch.domain.machine.failures import Failure, failure_at_deadline
from chaffinch.domain.machine.fighting import somebody_fights_for_the_router
from chaffinch.domain.machine.promoting import decided_to_promote
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next, WriteOrder
from chaffinch.domain.machine.unrecorded import after_the_route
from chaffinch.domain.machine.warming import the_warm_up_has_failed, warm_up_problem
from chaffinch.domain.state import StepState


def the_spec_has_moved_on(situation: Situation) -> Next | None:
    """The spec asks for another revision: what is tried now is given up, without blame."""
    if situation.revision == situation.candidate.revision:
        return None
    return rolling_back(situation, Reason.SUPERSEDED, f"the spec asks for {situation.revision} now")


def its_pods_cannot_work(situation: Situation) -> Next | None:
    """A crash loop, or an image that cannot be pulled."""
    failure = situation.failure
    return None if failure is None else rolling_back(situation, failure.cause, failure.message)


def its_pods_are_late(situation: Situation) -> Next | None:
    """The progress deadline is over."""
    candidate = situation.candidate
    if candidate.deadline is None or situation.now < candidate.deadline:
        return None
    failure = _failure_at_deadline(situation, first_step(candidate))
    return rolling_back(situation, failure.cause, failure.message)


def it_is_paused(situation: Situation) -> Next | None:
    """A person has paused it before its first step: it is not entered. What its pods may take goes on."""
    if not situation.is_paused:
        return None
    return the_warm_up_has_failed(situation) or situation.wait(replace(situation.state, hold=None))


def its_pods_are_warm(situation: Situation) -> Next | None:
    """The pods that the first step needs are there: the steps begin."""
    candidate = situation.candidate
    index = first_step(candidate)
    if len(situation.serving) < situation.pods_needed(index):
        return None
    if index >= len(candidate.plan.steps):
        return decided_to_promote(situation)
    state = situation.with_candidate(step=StepState(index, situation.now), deadline=None)
    return situation.at_once(replace(state, stage=RolloutStage.STEPPING, hold=None))


def its_pods_are_awaited(situation: Situation) -> Next | None:
    """Nothing is wrong (any more)."""
    return situation.wait(replace(situation.state, hold=None))


CHECKS = after_the_route(
    the_spec_has_moved_on,
    its_pods_cannot_work,
    somebody_fights_for_the_router,
    its_pods_are_late,
    it_is_paused,
    its_pods_are_warm,
    the_warm_up_has_failed,
    its_pods_are_awaited,
)


def it_serves_already(situation: Situation) -> Next | None:
    """The route names the first revision as stable, but a crash kept the status from saying so."""
    stored = situation.seen.router.route
    if stored is None or stored.intent.stable != situation.candidate.revision:
        return None
    return _serving(situation, WriteOrder.STATUS_FIRST)


def the_first_is_warm(situation: Situation) -> Next | None:
    """All pods of the first revision are warm: it gets all traffic, for there is nothing to compare with."""
    if len(situation.serving) < situation.pods_needed(len(situation.candidate.plan.steps)):
        return None
    return _serving(situation, WriteOrder.ROUTE_FIRST)


def the_first_is_in_trouble(situation: Situation) -> Next | None:
    """It cannot work, or is late. There is nothing to go back to: its pods stay, and a person is told."""
    candidate = situation.candidate
    failure = situation.failure
    if failure is None and candidate.deadline is not None and situation.now >= candidate.deadline:
        failure = _failure_at_deadline(situation, len(candidate.plan.steps))
    if failure is None:
        return None
    return situation.held(situation.state, failure.cause, failure.message, None)


CHECKS_OF_FIRST = (
    it_serves_already,
    *after_the_route(
        the_spec_has_moved_on,
        somebody_fights_for_the_router,
        the_first_is_warm,
        the_first_is_in_trouble,
        the_warm_up_has_failed,
        its_pods_are_awaited,
    ),
)
"""The checks of the very first deployment, when there is no stable revision."""


def _failure_at_deadline(situation: Situation, step: int) -> Failure:
    needed, warm_up = situation.pods_needed(step), warm_up_problem(situation)
    return failure_at_deadline(situation.children, len(situation.serving), needed, warm_up)


def _serving(situation: Situation, order: WriteOrder) -> Next:
    message = "the first revision; there was nothing to compare it with"
    return situation.at_once(became_stable(situation, message), order)
