"""What makes a difference between two worlds, and what does not.

Every deadline of the model is one tick away, so a moment is over or is not; a name of a pod matters only
where it is remembered; of two alike pods it does not matter which is which.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime

from chaffinch.domain.route import StoredRoute
from chaffinch.domain.state import Candidate, StepState
from scenarios.interleavings.model import TICK, ModelPod, World


def key_of(world: World) -> Hashable:
    """Return what makes a difference of a world."""
    state, now = world.state, world.now
    hold, last, command = state.hold, state.last_attempt, world.command
    edits = state.router_edits
    answered = state.last_command.uid if state.last_command else None
    return (
        world.version,
        state.stage,
        state.stable.revision if state.stable else None,
        _candidate(state.candidate, now),
        (hold.reason, _age(hold.since, now), _age(hold.deadline, now)) if hold else None,
        (last.revision, last.outcome, last.cause, _age(last.ended_at, now)) if last else None,
        state.failed,
        state.is_empty,
        tuple((of, _pods(of, pods, world)) for of, pods in world.pods),
        _route(world.route, now, state.attempts),
        None if world.ours is world.route else _route(world.ours, now, state.attempts),
        (edits.count, _age(edits.at, now), edits.fight_since is None) if edits else None,
        world.in_force is world.route or _route(world.in_force, now, state.attempts),
        world.silent,
        (command.action, command.revision, command.uid == answered) if command else None,
        world.passed,
        world.promoted,
    )


def told(world: World) -> str:
    """Describe a world in the message of a failing test."""
    state, candidate = world.state, world.state.candidate
    weights = {arm.revision: arm.weight for arm in world.route.intent.arms} if world.route else {}
    facts = [f"{world.seconds} s", f"spec v{world.version}", str(state.stage), f"stable {state.stable}"]
    if candidate is not None:
        parts = (candidate.revision, candidate.step, candidate.weight, candidate.decision, candidate.paused)
        facts.append(f"candidate {parts}")
    facts += [
        f"hold {state.hold}",
        f"edits {state.router_edits}",
        f"last {state.last_attempt}",
        f"command {world.command}",
    ]
    return ", ".join(
        (*facts, f"route {weights}", f"follows {world.in_force is world.route}", f"{world.pods}")
    )


def _age(at: datetime | None, now: datetime) -> int | None:
    return None if at is None else max(-TICK, min(TICK, int((at - now).total_seconds())))


def _candidate(candidate: Candidate | None, now: datetime) -> Hashable:
    if candidate is None:
        return None
    decision, paused = candidate.decision, candidate.paused
    return (
        candidate.revision,
        _age(candidate.deadline, now),
        _step(candidate.step, now) if candidate.step else None,
        candidate.weight,
        (decision.kind, decision.cause, _age(decision.at, now)) if decision else None,
        paused.cause if paused else None,
    )


def _step(step: StepState, now: datetime) -> Hashable:
    clock = step.acknowledged_at
    since = step.restarted_at or step.entered_at
    waits = None if clock else _age(since, now)
    return (step.index, _age(step.entered_at, now), _age(clock, now), waits, step.passed_at is None)


def _pods(of: str, pods: tuple[ModelPod, ...], world: World) -> Hashable:
    return tuple(sorted(_pod(of, pod, world) for pod in pods))


def _pod(of: str, pod: ModelPod, world: World) -> tuple[object, ...]:
    """Return a pod without its name, but with whether its name is remembered."""
    seen, candidate = pod.seen(of), world.state.candidate
    warm = candidate is not None and (seen.name, seen.restarts) in {
        (each.name, each.restarts) for each in candidate.warmed
    }
    clock = candidate.step.acknowledged_at if candidate is not None and candidate.step else None
    fresh = clock is not None and seen.started is not None and seen.started > clock
    admitted = tuple(_admits(route, of, seen.name) for route in (world.route, world.in_force))
    return (pod.ready, pod.restarts, warm, fresh, *admitted)


def _admits(route: StoredRoute | None, of: str, name: str) -> bool:
    arms = route.intent.arms if route else ()
    return any(name in (arm.pods or ()) for arm in arms if arm.revision == of)


def _route(route: StoredRoute | None, now: datetime, attempts: int) -> Hashable:
    if route is None:
        return None
    intent = route.intent
    decision = intent.decision
    told = (decision.kind, decision.cause, _age(decision.at, now)) if decision else None
    arms = tuple((arm.revision, arm.weight, arm.pods and len(arm.pods)) for arm in intent.arms)
    return (intent.stable, arms, told, intent.attempt - attempts)
