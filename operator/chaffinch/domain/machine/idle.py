"""The stage Idle: nothing is tried. Decides whether an attempt starts."""

from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.attempt_status import Outcome, RolloutStage
from chaffinch.domain.draining import left_over
from chaffinch.domain.machine.ending import ENVIRONMENT
from chaffinch.domain.machine.fighting import somebody_fights_for_the_router
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next
from chaffinch.domain.plan import plan_of
from chaffinch.domain.state import Candidate, RolloutState


def stable_is_what_the_spec_asks_for(situation: Situation) -> Next | None:
    """Nothing is new."""
    stable = situation.state.stable
    if stable is None or stable.revision != situation.revision:
        return None
    return _at_rest(situation)


def the_revision_failed_before(situation: Situation) -> Next | None:
    """The revision is one that evidence spoke against. It is not tried again by itself."""
    return _at_rest(situation) if _has_failed(situation) else None


def the_revision_was_rolled_back_just_now(situation: Situation) -> Next | None:
    """Its last attempt was rolled back; if for a trouble of its environment, it only has to wait a while."""
    if not _was_rolled_back(situation):
        return None
    found, last = _at_rest(situation), situation.state.last_attempt
    if last is None or last.again_at is None:
        return found
    seconds = (last.again_at - situation.now).total_seconds()
    return replace(found, requeue_after=min(found.requeue_after, seconds))


def the_revision_is_new(situation: Situation) -> Next | None:
    """An attempt starts."""
    return situation.at_once(with_new_attempt(situation))


def is_barred(situation: Situation) -> bool:
    """Say whether the spec's revision is kept from being tried (again) by itself."""
    return _has_failed(situation) or _was_rolled_back(situation)


def _has_failed(situation: Situation) -> bool:
    return situation.revision in situation.state.failed


def _was_rolled_back(situation: Situation) -> bool:
    last = situation.state.last_attempt
    if last is None or last.revision != situation.revision or last.outcome is not Outcome.ROLLED_BACK:
        return False
    return last.cause not in ENVIRONMENT or (last.again_at is not None and situation.now < last.again_at)


def _at_rest(situation: Situation) -> Next:
    """Stay as it is.

    What nobody tells is looked out for: the last answers of a revision that is out, routers that have not
    acknowledged yet, the end of a fight. So is the moment at which stable may get its next pod.
    """
    timing, state = situation.timing, situation.state
    pause = timing.idle if state.router_fight is None else timing.stalled
    if left_over(state, situation.seen) or not situation.in_force or _stable_grows(situation):
        pause = timing.active
    return Next(state, requeue_after=pause)


def _stable_grows(situation: Situation) -> bool:
    """Say whether pods of stable are asked for one by one, but for a storm, whose next try has its time."""
    stable = situation.state.stable
    if stable is None or any(situation.now < storm.again_at for storm in situation.state.storms):
        return False
    children = situation.seen.revision(stable.revision)
    return children.refused is None and (children.desired_replicas or 0) < situation.spec.replicas


CHECKS = (
    stable_is_what_the_spec_asks_for,
    the_revision_failed_before,
    the_revision_was_rolled_back_just_now,
    somebody_fights_for_the_router,
    the_revision_is_new,
)


def with_new_attempt(situation: Situation) -> RolloutState:
    """Return the state in which the spec's revision is a candidate, with a plan frozen from the spec."""
    state, baseline = situation.state, situation.seen.baseline
    plan = plan_of(
        situation.spec,
        uid=baseline.uid if baseline else "",
        digest=baseline.digest if baseline else "",
    )
    attempt = state.attempts + 1
    candidate = Candidate(
        revision=situation.revision,
        attempt=attempt,
        started_at=situation.now,
        deadline=situation.after(plan.strategy.progress_deadline_seconds),
        plan=plan,
    )
    return replace(state, stage=RolloutStage.DEPLOYING, candidate=candidate, attempts=attempt, hold=None)
