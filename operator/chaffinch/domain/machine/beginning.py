"""What to make of an empty status: a rollout that is new, or one whose status was lost.

The router's route survives a lost status. Who is stable is read from it and from nowhere else: taking a
rollout with children for a new one would deploy over a service that runs.
"""

from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, RolloutStage
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.machine.ending import rolled_back_by
from chaffinch.domain.machine.idle import with_new_attempt
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next, WriteOrder
from chaffinch.domain.names import last_warm_up
from chaffinch.domain.plan import plan_of
from chaffinch.domain.route import Decision, RouteArm, RouteIntent
from chaffinch.domain.state import Candidate, Hold, RolloutState, StableRevision, WarmPod


def there_is_nothing_yet(situation: Situation) -> Next | None:
    """No child exists: the first attempt starts."""
    if situation.seen.has_children:
        return None
    return situation.at_once(with_new_attempt(situation))


def the_route_is_lost_too(situation: Situation) -> Next | None:
    """Children exist and nothing says which of them serves. A person has to."""
    if situation.seen.router.route is not None and not situation.seen.router.unreadable:
        return None
    message = "children exist, but the router's ConfigMap that names the stable revision is missing or broken"
    hold = Hold(Reason.STATUS_LOST, situation.now, None, message)
    return Next(replace(situation.state, hold=hold), act=False, requeue_after=situation.timing.active)


def only_the_candidate_answers(situation: Situation) -> Next | None:
    """Stable has no Ready pod: an attempt that cannot go on has the traffic until stable could take it."""
    stored = situation.seen.router.route
    if stored is None or stored.intent.stable is None or _goes_on(stored.intent):
        return None
    arm, stable = _tried(stored.intent), situation.seen.revision(stored.intent.stable)
    if arm is None or arm.weight == 0 or any(pod.serves for pod in stable.pods):
        return None
    admitted = arm.pods or ()
    if not any(pod.serves and pod.name in admitted for pod in situation.seen.revision(arm.revision).pods):
        return None
    message = f"the stable revision {stable.revision} has no ready pod; traffic stays as it is"
    hold = Hold(Reason.NO_READY_ENDPOINT, situation.now, None, message)
    return Next(replace(situation.state, hold=hold), act=False, requeue_after=situation.timing.active)


def the_status_is_lost(situation: Situation) -> Next | None:
    """The route tells who is stable; an attempt under way is ended as its decision says, or given up."""
    stored = situation.seen.router.route
    if stored is None:
        return None
    state = _restored(situation, stored.intent)
    # As in every rollback: while the route gives the candidate traffic nothing may be decided that takes it.
    is_out = state.stage is RolloutStage.ROLLING_BACK
    return situation.at_once(state, WriteOrder.ROUTE_FIRST if is_out else WriteOrder.STATUS_FIRST)


CHECKS = (there_is_nothing_yet, the_route_is_lost_too, only_the_candidate_answers, the_status_is_lost)


def _restored(situation: Situation, intent: RouteIntent) -> RolloutState:
    stable = None if intent.stable is None else StableRevision(intent.stable, situation.now)
    state = RolloutState(stable=stable, attempts=intent.attempt, sequence=situation.state.sequence)
    arm = _tried(intent)
    if arm is None:
        return state
    state = replace(state, stage=RolloutStage.DEPLOYING, candidate=_candidate(situation, intent, arm))
    restored = replace(situation, state=state)
    written = intent.decision
    if written is not None and _goes_on(intent):
        message = "decided before the rollout's status was lost"
        decision = Decision(written.kind, written.cause, written.at, message)
        candidate = replace(restored.candidate, decision=decision)
        return replace(state, stage=RolloutStage.PROMOTING, candidate=candidate)
    if stable is None:
        return state
    decision = Decision(
        DecisionKind.ROLLBACK,
        written.cause if written else Reason.SUPERSEDED,
        written.at if written else situation.now,
        "the rollout's status was lost; the attempt cannot go on",
    )
    return rolled_back_by(restored, decision)


def _tried(intent: RouteIntent) -> RouteArm | None:
    """Return the candidate's arm, if there is one; revisions that are leaving admit no pod at all."""
    others = (arm for arm in intent.arms if arm.revision != intent.stable)
    return next((arm for arm in others if arm.weight > 0 or arm.pods != ()), None)


def _goes_on(intent: RouteIntent) -> bool:
    """Say whether a route carries a promotion, which goes on whatever was lost."""
    return intent.decision is not None and intent.decision.kind is DecisionKind.PROMOTE


def _candidate(situation: Situation, intent: RouteIntent, arm: RouteArm) -> Candidate:
    plan, seen = plan_of(situation.spec), situation.seen
    restarts = {pod.name: pod.restarts for pod in seen.revision(arm.revision).pods}
    # A warm-up of a name that was given before would be taken for the one that ended, and warm nothing.
    named = last_warm_up(
        (probe.name for probe in seen.probes), seen.rollout.name, arm.revision, intent.attempt
    )
    return Candidate(
        revision=arm.revision,
        attempt=intent.attempt,
        started_at=situation.now,
        deadline=situation.after(plan.strategy.progress_deadline_seconds),
        plan=plan,
        warmed=tuple(WarmPod(name, restarts[name]) for name in arm.pods or () if name in restarts),
        warm_ups=named,
        weight=arm.weight,
    )
