"""Visits every state of the model that a number of events can lead to, each once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from chaffinch.domain.verdict import Outcome
from scenarios.interleavings import laws
from scenarios.interleavings.events import FOLLOW, PASS, READY, TIME, Event, cut_off
from scenarios.interleavings.keys import key_of, told
from scenarios.interleavings.model import World
from scenarios.interleavings.passes import decide

LONGEST_PATH = 60
Path = tuple[Event, ...]


def after(world: World, event: Event) -> World:
    """Let something happen, then run a pass; each of its writes is held against the laws."""
    *_, last = prefixes(replace(event.change(world), verdict=event.verdict))
    return last


def prefixes(world: World) -> Iterator[World]:
    """Run a pass; yield the world as it was before the first write, and after each one."""
    decided = decide(world)
    laws.check_decision(decided)
    yield replace(world, verdict=None)
    for write in decided.writes():
        changed = write(world, decided)
        if changed is not world:
            laws.check(world, changed, decided)
            world = changed
            yield replace(world, verdict=None)
    answered = _with_answer(world)
    if answered is not world:
        yield replace(answered, verdict=None)


def _with_answer(world: World) -> World:
    last, command = world.state.last_command, world.command
    if last is None or command is None or last.uid != command.uid:
        return world
    return replace(world, command=None)


@dataclass
class Exploration:
    """All that was visited.

    Attributes:
        seen: The states, without what makes no difference.
        settling: By verdict, those of which it is known that they come to rest under it.
        passes: How many passes were run.
    """

    seen: set[Hashable] = field(default_factory=set)
    settling: dict[Outcome | None, set[Hashable]] = field(
        default_factory=lambda: {None: set(), Outcome.PASS: set()}
    )
    passes: int = 0

    def run(self, starts: Iterable[World], events: Sequence[Event], depth: int) -> None:
        """Visit everything that so many events lead to; the operator may crash after any write.

        Raises:
            AssertionError: If a law is broken, with the events that lead there.
        """
        frontier: list[tuple[World, Path]] = [(start, ()) for start in starts if self._is_new(start)]
        for _ in range(depth):
            reached: list[tuple[World, Path]] = []
            for world, path in frontier:
                for event in events:
                    reached += self._reached(world, event, path)
            frontier = reached

    def _reached(self, world: World, event: Event, path: Path) -> Iterator[tuple[World, Path]]:
        changed = event.change(world)
        if changed is world and event.verdict is None and event is not PASS:
            return
        worlds = self._passed(replace(changed, verdict=event.verdict), (*path, event))
        for writes, each in enumerate(worlds):
            if (writes or len(worlds) == 1) and self._is_new(each):
                complete = writes == len(worlds) - 1
                way = (*path, event if complete else cut_off(event, writes))
                self._settles(each, way)
                yield each, way

    def _is_new(self, world: World) -> bool:
        before = len(self.seen)
        self.seen.add(key_of(world))
        return len(self.seen) > before

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
        """Let nothing happen any more: pods get ready, routers follow, time passes (I8)."""
        known, walked = self.settling[verdict], set[Hashable]()
        for _ in range(LONGEST_PATH):
            world = READY.change(FOLLOW.change(world))
            key = key_of(world)
            if key in known:
                break
            if key in walked:
                raise AssertionError(f"I8: no rest under {verdict} after: {_story(path)}\nin: {told(world)}")
            walked.add(key)
            *_, following = self._passed(replace(TIME.change(world), verdict=verdict), (*path, TIME))
            if key_of(READY.change(FOLLOW.change(following))) == key:
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
