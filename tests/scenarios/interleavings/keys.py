"""What makes a difference between two worlds, and what does not.

Every deadline of the model is one tick away, or out of reach, and whatever happens happens at a tick: so a
moment is past, is now, or is still to come. A pod's name matters only where it is remembered, and of two
alike pods it does not matter which is which.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime

from chaffinch.domain.route import StoredRoute
from chaffinch.domain.state import Candidate, LastAttempt, RolloutState, StepState
from scenarios.interleavings.model import CRASHED, ModelPod, World, moment


def key_of(world: World) -> tuple[Hashable, ...]:
    """Return what makes a difference of a world."""
    state, now = world.state, world.now
    hold, edits = state.hold, state.router_edits
    return (
        world.version,
        world.replicas,
        state.stage,
        _stable(state, now),
        _candidate(state.candidate, now),
        (hold.reason, _age(hold.since, now), _is_ahead(hold.deadline, now)) if hold else None,
        _last(state.last_attempt, now),
        frozenset(state.failed),
        state.is_empty,
        _pods(world),
        _probes(world),
        _route(world.route, state, now),
        None if world.ours is world.route else _route(world.ours, state, now),
        (edits.count, _age(edits.at, now), edits.fight_since is None) if edits else None,
        world.in_force is world.route or _route(world.in_force, state, now),
        world.silent,
        world.trouble is None,
        _command(world),
        world.passed,
    )


def told(world: World) -> str:
    """Describe a world in the message of a failing test."""
    state, candidate = world.state, world.state.candidate
    weights = {arm.revision: arm.weight for arm in world.route.intent.arms} if world.route else {}
    facts = [
        f"{world.seconds} s",
        f"spec v{world.version}, {world.replicas} replicas",
        str(state.stage),
        f"stable {state.stable}",
    ]
    if candidate is not None:
        parts = (candidate.revision, candidate.step, candidate.weight, candidate.decision, candidate.paused)
        facts.append(f"candidate {parts}")
    facts += [
        f"hold {state.hold}",
        f"edits {state.router_edits}",
        f"last {state.last_attempt}",
        f"command {world.command}",
        f"trouble {world.trouble}",
    ]
    return ", ".join(
        (*facts, f"route {weights}", f"follows {world.in_force is world.route}", f"{world.pods}")
    )


def _age(at: datetime | None, now: datetime) -> int | None:
    return None if at is None else (at > now) - (at < now)


def _is_ahead(deadline: datetime | None, now: datetime) -> bool | None:
    return None if deadline is None else deadline > now


def _stable(state: RolloutState, now: datetime) -> Hashable:
    """Return who is stable; since when matters as long as no attempt has ended since."""
    if state.stable is None:
        return None
    return (state.stable.revision, _age(state.stable.since, now) if state.last_attempt is None else None)


def _candidate(candidate: Candidate | None, now: datetime) -> Hashable:
    if candidate is None:
        return None
    decision, paused = candidate.decision, candidate.paused
    return (
        candidate.revision,
        _is_ahead(candidate.deadline, now),
        _step(candidate.step, now) if candidate.step else None,
        candidate.weight,
        (candidate.warm_up.serial, candidate.warm_up.failures) if candidate.warm_up else candidate.warm_ups,
        (decision.kind, decision.cause, _age(decision.at, now)) if decision else None,
        paused.cause if paused else None,
    )


def _step(step: StepState, now: datetime) -> Hashable:
    clock = step.acknowledged_at
    waits = None if clock else _age(step.restarted_at or step.entered_at, now)
    runs = (step.run, step.runs_before)
    return (step.index, _age(step.entered_at, now), _age(clock, now), waits, step.passed_at is None, runs)


def _last(last: LastAttempt | None, now: datetime) -> Hashable:
    return (last.revision, last.outcome, last.cause, _age(last.ended_at, now)) if last else None


def _command(world: World) -> Hashable:
    """Return the command that waits, with whether it was answered, or may have been carried out."""
    command, state = world.command, world.state
    if command is None:
        return None
    answered = state.last_command is not None and state.last_command.uid == command.uid
    decided_at = state.last_attempt.decided_at if state.last_attempt else None
    return (command.action, command.revision, answered, decided_at and decided_at >= command.created)


def _pods(world: World) -> Hashable:
    """Return the pods without their names, but with whether their names are remembered."""
    candidate, routes = world.state.candidate, (world.route, world.in_force)
    warmed = {(each.name, each.restarts) for each in candidate.warmed} if candidate else set()
    loaded = [set(each.pods) for each in world.probes if each.attempt == world.state.attempts]
    if candidate is not None and candidate.warm_up is not None:
        loaded.append({each.name for each in candidate.warm_up.pods})
    clock = candidate.step.acknowledged_at if candidate is not None and candidate.step else None
    admitted = [{name for arm in route.intent.arms for name in arm.pods or ()} for route in routes if route]
    return tuple(
        (of, tuple(sorted(_pod(pod, warmed, clock, [*admitted, *loaded]) for pod in pods)))
        for of, pods in world.pods
    )


def _pod(
    pod: ModelPod,
    warmed: set[tuple[str, int]],
    clock: datetime | None,
    remembered: list[set[str]],
) -> tuple[object, ...]:
    fresh = clock is not None and moment(pod.started) > clock
    name = pod.name
    warm = (name, pod.restarts) in warmed
    return (pod.ready, pod.restarts >= CRASHED, pod.warm, warm, fresh, *(name in each for each in remembered))


def _probes(world: World) -> Hashable:
    """Return the load probes of the attempt; no name of an earlier one's is given again."""
    now = world.now
    return tuple(
        (
            each.name.partition(f"-a{each.attempt}-")[2],
            len(each.pods),
            each.failed,
            each.outcome,
            _age(each.ended, now),
        )
        for each in world.probes
        if each.attempt == world.state.attempts
    )


def _route(route: StoredRoute | None, state: RolloutState, now: datetime) -> Hashable:
    if route is None:
        return None
    intent, candidate = route.intent, state.candidate
    decision = intent.decision
    made = candidate.decision if candidate else None
    told = None
    if decision is not None:
        is_ours = made is not None and made.at == decision.at
        told = (decision.kind, decision.cause, _age(decision.at, now), is_ours)
    arms = tuple((arm.revision, arm.weight, arm.pods and len(arm.pods)) for arm in intent.arms)
    return (intent.stable, arms, told, intent.attempt - state.attempts)
