"""Visits every state of the model that a number of events can lead to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from chaffinch.domain.verdict import Outcome
from scenarios.interleavings import laws
from scenarios.interleavings.events import FOLLOW, NO_TROUBLE, PASS, READY, TIME, Event, cut_off, loads_end
from scenarios.interleavings.keys import key_of, told
from scenarios.interleavings.model import World
from scenarios.interleavings.passes import decide

LONGEST_PATH = 60
Path = tuple[Event, ...]
Frontier = dict[int, list[tuple[World, Path]]]


def after(world: World, event: Event) -> World:
    """Let something happen, then run a pass; each of its writes is held against the laws."""
    *_, last = prefixes(replace(event.change(world), verdict=event.verdict))
    return last


def prefixes(world: World) -> Iterator[World]:
    """Run a pass; yield the world as it was before the first write, and after each one."""
    decided = decide(world)
    laws.check_decision(decided)
    world = world if world.verdict is None else replace(world, verdict=None)
    yield world
    for write in decided.writes():
        changed = write(world, decided)
        if changed is not world:
            laws.check(world, changed, decided)
            world = changed
            yield world
    answered = _with_answer(world)
    if answered is not world:
        yield answered


def _with_answer(world: World) -> World:
    last, command = world.state.last_command, world.command
    if last is None or command is None or last.uid != command.uid:
        return world
    return replace(world, command=None)


def in_peace(world: World, verdict: Outcome | None) -> World:
    """Let all troubles end: pods get ready, routers follow, reads work, load comes to an end."""
    return loads_end(READY.change(FOLLOW.change(NO_TROUBLE.change(world))), verdict)


@dataclass(frozen=True)
class Mix:
    """What may happen in a row of events.

    Attributes:
        course: Events of which any number may happen.
        disturbances: Events of which only some happen.
        most: How many of those; the same one may happen more than once.
    """

    course: Sequence[Event]
    disturbances: Sequence[Event] = ()
    most: int = 0


@dataclass
class Exploration:
    """All that was visited.

    Attributes:
        seen: The states, without what makes no difference, each with the fewest disturbances that led there.
        settling: By verdict, those of which it is known that they come to rest under it.
        passes: How many passes were run.
    """

    seen: dict[Hashable, int] = field(default_factory=dict)
    settling: dict[Outcome | None, set[Hashable]] = field(
        default_factory=lambda: {None: set(), Outcome.PASS: set()}
    )
    passes: int = 0
    _parts: dict[Hashable, Hashable] = field(default_factory=dict)

    def run(self, starts: Iterable[World], mix: Mix, depth: int) -> None:
        """Visit everything that so many events lead to; the operator may crash after any write.

        Args:
            starts: Where it begins.
            mix: What may happen.
            depth: How many events happen.

        Raises:
            AssertionError: If a law is broken, with the events that lead there.
        """
        frontier: Frontier = {0: [(start, ()) for start in starts if self._is_new(start, 0)]}
        for left in reversed(range(depth)):
            reached: Frontier = defaultdict(list)
            for so_far, world, path in self._following(frontier, mix):
                if left:
                    reached[so_far].append((world, path))
            frontier = reached

    def _following(self, frontier: Frontier, mix: Mix) -> Iterator[tuple[int, World, Path]]:
        """Yield what one more event leads to, with how many disturbances there were so far."""
        for so_far in sorted(frontier):
            more = mix.disturbances if so_far < mix.most else ()
            counted = [*((event, so_far) for event in mix.course), *((event, so_far + 1) for event in more)]
            for world, path in frontier[so_far]:
                for event, count in counted:
                    for each, way in self._reached(world, event, path, count):
                        yield count, each, way

    def _reached(self, world: World, event: Event, path: Path, so_far: int) -> Iterator[tuple[World, Path]]:
        changed = event.change(world)
        if changed is world and event.verdict is None and event is not PASS:
            return
        worlds = self._passed(replace(changed, verdict=event.verdict), (*path, event))
        for writes, each in enumerate(worlds):
            if (writes or len(worlds) == 1) and self._is_new(each, so_far):
                complete = writes == len(worlds) - 1
                way = (*path, event if complete else cut_off(event, writes))
                self._settles(each, way)
                yield each, way

    def _is_new(self, world: World, so_far: int) -> bool:
        # Equal parts are kept only once: there are few of them, in very many combinations.
        key = tuple(self._parts.setdefault(part, part) for part in key_of(world))
        if self.seen.get(key, so_far + 1) <= so_far:
            return False
        self.seen[key] = so_far
        return True

    def _passed(self, world: World, path: Path) -> Sequence[World]:
        self.passes += 1
        try:
            return list(prefixes(world))
        except (AssertionError, ValueError) as error:
            raise AssertionError(f"{error} after: {_story(path)}\nfrom: {told(world)}") from error

    def _settles(self, world: World, path: Path) -> None:
        for verdict in self.settling:
            self._settles_under(verdict, world, path)

    def _settles_under(self, verdict: Outcome | None, world: World, path: Path) -> None:
        """Let nothing happen any more but that troubles end and time passes (I8)."""
        known, walked = self.settling[verdict], set[Hashable]()
        for _ in range(LONGEST_PATH):
            world = in_peace(world, verdict)
            key = key_of(world)
            if key in known:
                break
            if key in walked:
                raise AssertionError(f"I8: no rest under {verdict} after: {_story(path)}\nin: {told(world)}")
            walked.add(key)
            *_, following = self._passed(replace(TIME.change(world), verdict=verdict), (*path, TIME))
            if key_of(in_peace(following, verdict)) == key:
                _at_rest(world, following, path)
                break
            world = following
        else:
            raise AssertionError(f"I8: too many steps to rest under {verdict} after: {_story(path)}")
        known |= walked


def _at_rest(before: World, world: World, path: Path) -> None:
    wrote = (before.route, before.pods) != (world.route, world.pods)
    if wrote or not laws.is_an_end(world):
        raise AssertionError(f"I8: this is no end, after: {_story(path)}\nin: {told(world)}")


def _story(path: Path) -> str:
    return " → ".join(map(str, path))
