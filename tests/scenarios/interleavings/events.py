"""What can happen to the model between two passes. Each event is followed by a pass, which may be cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from chaffinch.api.v1alpha1.command import CommandAction
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain.commands import Command
from chaffinch.domain.state import RolloutState
from chaffinch.domain.verdict import Outcome
from scenarios.interleavings.model import CRASHED, SIGN_OFF, TICK, Trouble, World, revision

WRONG = "0ther123"
ALL = 99


@dataclass(frozen=True)
class Event:
    """Something that happens, what the judge says in the pass after it, and how many writes that makes."""

    name: str
    change: Callable[[World], World]
    verdict: Outcome | None = None
    writes: int = ALL

    def __str__(self) -> str:
        """Name the event."""
        return self.name


def _nothing(world: World) -> World:
    return world


def _time(world: World) -> World:
    return replace(world, seconds=world.seconds + TICK)


def _pods_are_ready(world: World) -> World:
    if all(pod.ready for _, pods in world.pods for pod in pods):
        return world
    ready = tuple((of, tuple(replace(pod, ready=True) for pod in pods)) for of, pods in world.pods)
    return replace(world, pods=ready)


def _candidate(world: World) -> str | None:
    return world.state.candidate.revision if world.state.candidate else None


def _stable(world: World) -> str | None:
    return world.state.stable.revision if world.state.stable else None


def _lost(of: Callable[[World], str | None], count: int) -> Callable[[World], World]:
    def lose(world: World) -> World:
        name = of(world)
        if name is None:
            return world
        pods = world.pods_of(name)
        lost = min(count, len(pods))
        return world.with_new_pods(name, pods[lost:], lost) if lost else world

    return lose


def _crashes(world: World) -> World:
    name = _candidate(world)
    pods = world.pods_of(name)
    if name is None or not pods:
        return world
    crashed = replace(pods[0], ready=False, restarts=pods[0].restarts + CRASHED, warm=False)
    return world.with_pods(name, (crashed, *pods[1:]))


def _routers_follow(world: World) -> World:
    if world.in_force is world.route and not world.silent:
        return world
    return replace(world, in_force=world.route, silent=False)


def _routers_are_silent(world: World) -> World:
    return world if world.silent else replace(world, silent=True)


def loads_end(world: World, outcome: Outcome | None, *, failed: bool = False) -> World:
    """Let all load that runs end; a warm-up has warmed those of its pods that are still there."""
    running = [each for each in world.probes if each.ended is None]
    if not running:
        return world
    warmed = {name for each in running if not (failed or each.measures) for name in each.pods}
    pods = tuple(
        (of, tuple(replace(pod, warm=True) if pod.name in warmed else pod for pod in pods))
        for of, pods in world.pods
    )
    ended = tuple(each.end(world.now, outcome, failed=failed) for each in world.probes)
    return replace(world, probes=ended, pods=pods)


def _asked_for(version: int) -> Callable[[World], World]:
    return lambda world: world if world.version == version else replace(world, version=version)


def _route_is_edited(world: World) -> World:
    """Let somebody else give all traffic to the revision that is named last."""
    if world.route is None or world.route is not world.ours:
        return world
    *others, last = world.route.intent.arms
    arms = (*(replace(arm, weight=0) for arm in others), replace(last, weight=FULL_WEIGHT))
    return replace(world, route=replace(world.route, intent=replace(world.route.intent, arms=arms)))


def _more_replicas(world: World) -> World:
    many = world.replicas > world.size.pods
    return world if many else replace(world, replicas=world.replicas + 1)


def _fewer_replicas(world: World) -> World:
    return world if world.replicas == 1 else replace(world, replicas=world.replicas - 1)


def _trouble(trouble: Trouble | None) -> Callable[[World], World]:
    return lambda world: world if world.trouble is trouble else replace(world, trouble=trouble)


def _status_is_lost(world: World) -> World:
    return world if world.state.is_empty else replace(world, state=RolloutState())


def _commanded(action: CommandAction, *, wrong: bool = False) -> Callable[[World], World]:
    def command(world: World) -> World:
        if world.command is not None:
            return world
        last = world.state.last_command
        uid = "b" if last is not None and last.uid == "a" else "a"
        name = WRONG if wrong else _candidate(world) or revision(world.version)
        at = SIGN_OFF if action is CommandAction.APPROVE else None
        return replace(world, command=Command(uid, uid, action, name, world.now, step=at))

    return command


PASS = Event("a pass", _nothing)
TIME = Event("time", _time)
READY = Event("pods are ready", _pods_are_ready)
FOLLOW = Event("routers follow", _routers_follow)
PASSES = Event("verdict Pass", _nothing, Outcome.PASS)
TIME_PASSES = Event("time and verdict Pass", _time, Outcome.PASS)
FAILS = Event("verdict Fail", _nothing, Outcome.FAIL)
CANARY_LOST = Event("the canary is lost", _lost(_candidate, ALL))
CANARY_CRASHES = Event("the canary crashes", _crashes)
STABLE_LOST = Event("stable is lost", _lost(_stable, ALL))
CANARY_POD_LOST = Event("a canary pod is lost", _lost(_candidate, 1))
STABLE_POD_LOST = Event("a pod of stable is lost", _lost(_stable, 1))
MORE, FEWER = Event("more replicas", _more_replicas), Event("fewer replicas", _fewer_replicas)
READS_FAIL, NAME_TAKEN = (Event(str(each), _trouble(each)) for each in Trouble)
LOAD_PASSES = Event("load ends, verdict Pass", lambda world: loads_end(world, Outcome.PASS))
LOAD_FAILS = Event("load ends, verdict Fail", lambda world: loads_end(world, Outcome.FAIL))
LOAD_LOST = Event("load is lost", lambda world: loads_end(world, None, failed=True))
NO_TROUBLE = Event("no trouble any more", _trouble(None))
SILENCE = Event("routers are silent", _routers_are_silent)
ROUTE_EDITED = Event("somebody edits the route", _route_is_edited)
STATUS_LOST = Event("the status is lost", _status_is_lost)
SPEC = {version: Event(f"spec v{version}", _asked_for(version)) for version in (1, 2, 3)}
COMMANDS = {action: Event(action.value, _commanded(action)) for action in CommandAction}

COURSE: tuple[Event, ...] = (PASS, TIME, READY, FOLLOW, TIME_PASSES, NO_TROUBLE)
"""What happens in any rollout that goes well, or goes well again."""
DISTURBANCES: tuple[Event, ...] = (
    PASSES,
    FAILS,
    CANARY_LOST,
    CANARY_POD_LOST,
    CANARY_CRASHES,
    STABLE_LOST,
    STABLE_POD_LOST,
    SILENCE,
    *SPEC.values(),
    MORE,
    FEWER,
    *COMMANDS.values(),
    Event("Abort of another revision", _commanded(CommandAction.ABORT, wrong=True)),
    STATUS_LOST,
    READS_FAIL,
    NAME_TAKEN,
)
"""All else but edits of the route: when the status is lost, too, the route is believed, whoever wrote it."""
EVENTS = (*COURSE, *DISTURBANCES)
"""Each with the whole pass that follows; :func:`cut_off` has those whose pass ends before its last write."""


def cut_off(event: Event, writes: int) -> Event:
    """Return an event after which the operator's process ends when it has made so many writes."""
    return replace(event, name=f"{event.name}, a crash after {writes} writes", writes=writes)
