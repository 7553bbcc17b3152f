"""The laws that every write of the model is held against: I1 to I4, and what a pause promises.

With them those of its end: who is left is as large as the spec asks, and nobody else has a pod.
"""

from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, RolloutStage
from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.rollout import OnFailure
from chaffinch.api.v1alpha1.strategy import ApprovalStep, BakeStep, CanaryStep, ProbeStep
from chaffinch.domain.state import Candidate, RolloutState
from chaffinch.domain.verdict import Outcome
from scenarios.interleavings.loads import measurement
from scenarios.interleavings.model import Trouble, World
from scenarios.interleavings.passes import Pass
from scenarios.oracle import weight_allowed_by


class LawBrokenError(AssertionError):
    """A write broke a law."""


def _require(holds: bool, law: str) -> None:
    if not holds:
        raise LawBrokenError(law)


def check_decision(of: Pass) -> None:
    """Check what a pass decides, before anything of it is written."""
    state, after = of.before.state, of.decided.state
    if of.before.trouble is None:
        _no_verdict_is_lost(of)
    else:
        found = after if of.before.trouble is Trouble.READ else _but_for_what_is_noted(state, after)
        _require(not of.decided.act and found == state, f"something is decided though {of.before.trouble}")


def _but_for_what_is_noted(state: RolloutState, after: RolloutState) -> RolloutState:
    """Return a state without what may be noted while a name is taken: looks at evidence, and an answer.

    A command is refused then, unless it is an Abort of what is out already, or on its way.
    """
    last, candidate, before = after.last_command, after.candidate, state.candidate
    out = before is None or state.stage is RolloutStage.ROLLING_BACK
    if last is not None and (
        last.outcome is CommandOutcome.REFUSED or (out and last.action is CommandAction.ABORT)
    ):
        after = replace(after, last_command=state.last_command)
    if candidate is None or candidate.step is None or before is None or before.step is None:
        return after
    return replace(after, candidate=replace(candidate, step=replace(candidate.step, judge=before.step.judge)))


def _no_verdict_is_lost(of: Pass) -> None:
    """Check that nothing but a hold or an end stands before a verdict."""
    state, after = of.before.state, of.decided.state
    failed = of.judgement is not None and of.judgement.outcome is Outcome.FAIL
    if not failed or state.candidate is None or after.stage is not RolloutStage.STEPPING or after.hold:
        return
    assert after.candidate is not None
    paused = after.candidate.paused
    asked = paused is not None and paused.cause == Reason.OBJECTIVE_FAILED
    resumed = state.candidate.paused is not None and paused is None
    pauses = state.candidate.plan.on_failure is OnFailure.PAUSE
    _require(pauses and (asked or resumed), "a verdict is lost")


def check(before: World, after: World, of: Pass) -> None:
    """Check one write.

    Args:
        before: The world that it changes.
        after: The changed one.
        of: The pass that makes it.
    """
    noted = before.trouble is Trouble.NAME and after == replace(
        before, state=after.state, command=after.command
    )
    _require(before.trouble is None or noted, f"something is written though {before.trouble}")
    if after.route is not before.route:
        _a_route(before, after)
    if after.state is not before.state:
        _a_status(before, after, of)
    if after.pods is not before.pods:
        _sizes(before, after)


def _a_route(before: World, after: World) -> None:
    assert after.route is not None
    intent, old = after.route.intent, before.ours.intent if before.ours else None
    _require(sum(arm.weight for arm in intent.arms) in {0, 10_000}, "the weights add up")
    for arm in intent.arms:
        had = old.weight_of(arm.revision) if old else 0
        if arm.weight <= had:
            continue
        # Where nobody can answer it makes no difference who is asked.
        lost = not any(before.serving(each.revision, each.pods) for each in intent.arms)
        answers = lost or before.serving(arm.revision, arm.pods)
        _require(answers, f"I1: {arm} gets traffic and cannot answer")
        if arm.revision != intent.stable:
            _a_rise(before, arm.revision, arm.weight)
    for arm in intent.arms if before.size.loads else ():
        cold = [each.name for each in before.pods_of(arm.revision) if not each.warm]
        _require(not set(cold) & set(arm.pods or ()), "a pod is admitted that no warm-up has reached")
    if old is not None and any(arm.weight > 0 for arm in old.arms):
        _require(any(arm.weight > 0 for arm in intent.arms), "I1: traffic is taken from everyone")


def _a_rise(world: World, revision: str, weight: int) -> None:
    """Check what is recorded when a candidate gets more traffic (I3)."""
    state, stored = world.state, world.ours
    if state.stable is None:
        return
    candidate = state.candidate
    assert candidate is not None
    _require(candidate.revision == revision, "I3: a weight rises that is not the candidate's")
    written = stored.intent.decision if stored else None
    if stored is not None and written is not None and stored.intent.attempt == state.attempts:
        _require(written.kind is DecisionKind.PROMOTE, "I3: a weight rises against a decision")
    if candidate.decision is not None and candidate.decision.kind is DecisionKind.PROMOTE:
        return
    assert candidate.step is not None
    index = candidate.step.index
    _require(weight <= weight_allowed_by(candidate.plan.steps[index]), "I3: more than the step's weight")
    _require(set(range(_first(candidate), index)) <= world.passed, "I3: a step before has not passed")


def _a_status(before: World, after: World, of: Pass) -> None:
    old, new = before.state.candidate, after.state.candidate
    stable, served = before.state.stable, after.state.stable
    if new is not None and old is not None and new.attempt == old.attempt:
        _a_step(old, new, before, of)
    served_already = new is not None and served is not None and new.revision == served.revision
    _require(not served_already, "what serves is tried")
    if before.state.is_empty or served is None or served == stable or stable is None:
        return
    given = before.in_force.intent.weight_of(served.revision) if before.in_force else 0
    _require(given == 10_000, "what has all traffic becomes stable")


def _a_step(old: Candidate, new: Candidate, world: World, of: Pass) -> None:
    was, is_now = old.step, new.step
    frozen = old.paused is not None and new.decision is None
    _require(new.weight <= old.weight or not frozen, "a weight rises in a pause")
    if is_now is not None and (was is None or is_now.index != was.index):
        _require(is_now.index == (_first(new) if was is None else was.index + 1), "I3: a step is skipped")
        _require(was is None or was.passed_at is not None, "I3: a step is left before its pass is recorded")
        _require(old.paused is None, "a step is entered in a pause")
    if is_now is not None and is_now.passed_at and not (was and was.passed_at):
        _a_pass(old, world, of)
    if new.decision is not None and old.decision is None and new.decision.kind is DecisionKind.PROMOTE:
        done = set(range(_first(new), len(new.plan.steps))) <= world.passed
        _require(done or _is_asked(world, CommandAction.PROMOTE), "I3: promoted before every step has passed")
    if new.decision is None and old.decision is not None:
        raise LawBrokenError("a decision is taken back")


def _a_pass(old: Candidate, world: World, of: Pass) -> None:
    assert old.step is not None
    step, since = old.plan.steps[old.step.index], old.step.acknowledged_at
    _require(old.paused is None, "a step passes in a pause")
    if isinstance(step, ApprovalStep):
        _require(_is_asked(world, CommandAction.APPROVE), "an approval step passes by itself")
        return
    judged = of.judgement is not None and of.judgement.outcome is Outcome.PASS
    probe = measurement(of.before.state, of.before.probes)
    shown = of.before.verdict if probe is None else probe.outcome
    _require(judged and shown is Outcome.PASS, "I4: a step passes without evidence")
    if isinstance(step, ProbeStep):
        _require(probe is not None, "I4: a probe step passes by other evidence")
        return
    assert isinstance(step, CanaryStep | BakeStep)
    _require(since is not None, "I4: a step passes whose weight was never in force")
    assert since is not None
    elapsed = (world.now - since).total_seconds()
    _require(elapsed >= step.for_seconds, "I4: a step passes before its time")


def _first(candidate: Candidate) -> int:
    """Return the index of the first step: a warm-up is none."""
    return 0 if candidate.plan.strategy.warm_up is None else 1


def _is_asked(world: World, action: CommandAction) -> bool:
    command, candidate = world.command, world.state.candidate
    asked = command is not None and candidate is not None and command.revision == candidate.revision
    return asked and command is not None and command.action is action


def _sizes(before: World, after: World) -> None:
    """Check that nobody who has traffic is made too small (I2): in an attempt, any smaller."""
    route = before.route.intent if before.route else None
    if route is None:
        return
    in_attempt = before.state.candidate is not None
    for of, pods in before.pods:
        has_traffic = before.has_traffic(of) if of == route.stable else route.weight_of(of) > 0
        enough = len(pods) if in_attempt else min(before.replicas, len(pods))
        _require(not has_traffic or len(after.pods_of(of)) >= enough, f"I2: {of} is made too small")


def is_an_end(world: World) -> bool:
    """Say whether a world in which nothing happens any more is in an end that a rollout may have."""
    state = world.state
    if state.stage is RolloutStage.IDLE:
        return state.stable is None or state.router_fight is not None or _has_its_size(world)
    if state.stage in {RolloutStage.DEPLOYING, RolloutStage.STEPPING}:
        return state.stage is not RolloutStage.DEPLOYING or _is_held(world)
    # A warm-up that came to nothing again and again is run by a person's Retry only.
    candidate = state.candidate
    warms = candidate is not None and candidate.warm_up is not None
    return state.stage is RolloutStage.PROMOTING and warms and _is_held(world)


def _has_its_size(world: World) -> bool:
    """Say whether who serves has as many pods as the spec asks for, and all others have none."""
    stable = world.state.stable
    assert stable is not None
    sizes = {of: len(pods) for of, pods in world.pods if pods}
    return sizes == {stable.revision: world.replicas}


def _is_held(world: World) -> bool:
    candidate = world.state.candidate
    return world.state.hold is not None or (candidate is not None and candidate.paused is not None)
