"""Killing the operator at one write of a rollout, and comparing what becomes of it with a run without faults.

Sweeps take long and mostly wait, so several *lanes* run side by side. A lane is an operator of its own: its
own proxy, Lease and namespaces. The process that is started after a kill goes on to serve the lane's next
run, so each kill costs one start.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from crash.children import Forked
from crash.history import History, differences
from crash.operator_process import OperatorProcess
from crash.playground import Playground
from crash.rollouts import FIRST, GOOD, SLOW, service
from faultproxy import Calls, CutAfter, CutBefore, FaultProxy, ReplyThen, Rule
from faultproxy.journal import writes
from faultproxy.rules import Fault, Then

_SERVES = "CHAFFINCH_WATCH_NAMESPACES"
_LEASE_SECONDS = "15"  # a lane need not wait for its end, and a busy machine should not cost it its Lease
LANES = int(os.environ.get("CRASH_LANES", "6"))
"""How many: more are faster, as long as the machine is not busy."""
TRIES = 4
"""How often a write is gone for: how often figures alone are written depends on how fast a run is."""


class Cut(StrEnum):
    """When the operator is killed."""

    BEFORE_SEND = "before the send"
    AFTER_APPLY = "after the apply, before the reply"
    AFTER_REPLY = "after the reply"

    def fault(self, then: Then) -> Fault:
        """Return what the write meets."""
        match self:
            case Cut.BEFORE_SEND:
                return CutBefore(then)
            case Cut.AFTER_APPLY:
                return CutAfter(then)
            case Cut.AFTER_REPLY:
                return ReplyThen(then)


class Ending(StrEnum):
    """How the swept rollout ends."""

    PROMOTED = "Promoted"
    ROLLED_BACK = "RolledBack"


@dataclass(frozen=True, slots=True)
class CutPoint:
    """One kill of a sweep.

    Attributes:
        ending: In which rollout.
        write: At which of its writes, from 1.
        cut: When.
    """

    ending: Ending
    write: int
    cut: Cut

    def __str__(self) -> str:
        """Name it for a report."""
        return f"{self.ending}, write {self.write}, {self.cut}"


@dataclass(frozen=True, slots=True)
class Reference:
    """What a rollout comes to without faults.

    Attributes:
        history: Its end, and what was made.
        writes: What was written, in order.
    """

    history: History
    writes: tuple[str, ...]

    def number_of(self, write: str, occurrence: int = 1) -> int:
        """Return the number of a write, counted from 1, by its verb and resource."""
        numbers = [number for number, text in enumerate(self.writes, 1) if text.startswith(f"{write} ")]
        return numbers[occurrence - 1]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one kill.

    Attributes:
        point: Which.
        reached: Whether there was such a write.
        problems: What is not as in the reference, or which invariant broke; nothing if all is well.
    """

    point: CutPoint
    reached: bool
    problems: tuple[str, ...]


class Lane:
    """An operator that is killed again and again.

    Args:
        playground: The surroundings.
        proxy: Its way to the API server.
        operator: Its process.
    """

    def __init__(self, playground: Playground, proxy: FaultProxy, operator: OperatorProcess) -> None:
        self._playground = playground
        self._proxy = proxy
        self._operator = operator
        self._next = playground.make_namespace()

    @classmethod
    @contextmanager
    def open(cls, playground: Playground, number: int) -> Iterator[Lane]:
        """Start a lane; its process and proxy end with the block."""
        name = f"lane-{number}"
        with (
            playground.proxy() as proxy,
            playground.operator(
                proxy, name, Forked, CHAFFINCH_LEASE_NAME=name, CHAFFINCH_LEASE_DURATION=_LEASE_SECONDS
            ) as operator,
        ):
            yield cls(playground, proxy, operator)

    def reference(self, ending: Ending) -> Reference:
        """Run a rollout without faults."""
        with self._namespace() as namespace:
            return Reference(*self._story(namespace, ending))

    def kill(self, point: CutPoint, reference: Reference) -> Result:
        """Run a rollout in which the operator is killed at a write."""
        with self._namespace() as namespace:
            meant = Calls(verbs=frozenset({"write"}), namespace=namespace)
            rule = Rule(meant, point.cut.fault(self._operator.kill), first=point.write)
            try:
                history, _ = self._story(namespace, point.ending, rule)
                self._playground.then_no_invariant_was_broken(namespace)
            except AssertionError as error:
                return Result(point, rule.met > 0, (str(error), self._operator.last_words()))
            finally:
                self._proxy.script.clear()
        wrong = differences(reference.history.end, history.end)
        wrong += differences(reference.history.made, history.made)
        return Result(point, rule.met > 0, tuple(wrong))

    def _story(
        self, namespace: str, ending: Ending, rule: Rule | None = None
    ) -> tuple[History, tuple[str, ...]]:
        """Bring a first version up and roll the next one out, under a rule; return what happened."""
        playground, proxy = self._playground, self._proxy
        # A busy machine may cost an operator its Lease at any time, and so its life.
        playground.until_stable(service(namespace, FIRST), self._revive)
        playground.until_quiet(proxy, namespace, self._revive)
        before = len(proxy.journal.of_namespace(namespace))
        if rule is not None:
            proxy.script.add(rule)
        playground.apply(service(namespace, GOOD if ending is Ending.PROMOTED else SLOW))
        playground.until_attempt_ends(namespace, 2, self._revive)
        playground.until_quiet(proxy, namespace, self._revive)
        entries = proxy.journal.of_namespace(namespace)[before:]
        return playground.history(namespace, entries), tuple(str(entry.call) for entry in writes(entries))

    @contextmanager
    def _namespace(self) -> Iterator[str]:
        """Make the next namespace; a process that starts now will serve the one after it, too."""
        namespace, self._next = self._next, self._playground.make_namespace()
        self._operator.settings[_SERVES] = f"{namespace},{self._next}"
        if not self._operator.alive or namespace not in self._operator.started_with[_SERVES].split(","):
            self._operator.stop()
            self._revive()
        try:
            yield namespace
        finally:
            self._playground.drop_namespace(namespace)

    def _revive(self) -> None:
        """Start the next process if the last one has ended; it leads at once."""
        if not self._operator.alive:
            self._playground.free_lease(self._operator.name)
            self._operator.start()


def references(playground: Playground) -> dict[Ending, Reference]:
    """Run each rollout without faults."""

    def run(ending: Ending) -> Reference:
        with Lane.open(playground, list(Ending).index(ending)) as lane:
            return lane.reference(ending)

    with ThreadPoolExecutor(len(Ending)) as lanes:
        return dict(zip(Ending, lanes.map(run, Ending), strict=True))


def sweep(
    playground: Playground, points: Sequence[CutPoint], references: Mapping[Ending, Reference]
) -> list[Result]:
    """Do all kills, in several lanes side by side.

    Returns:
        What became of them; of a point that a run did not get to, also what became of further tries.
    """
    todo = queue.SimpleQueue[tuple[CutPoint, int]]()
    for point in points:
        todo.put((point, TRIES))

    def work(number: int) -> list[Result]:
        results = []
        with Lane.open(playground, number) as lane:
            while following := _next_of(todo):
                point, tries = following
                results.append(lane.kill(point, references[point.ending]))
                _tell(results[-1])
                if not results[-1].reached and tries > 1:
                    todo.put((point, tries - 1))
        return results

    with ThreadPoolExecutor(LANES) as lanes:
        return [result for results in lanes.map(work, range(LANES)) for result in results]


def unreached(results: Sequence[Result]) -> list[CutPoint]:
    """Return the points that no try got to."""
    reached = {result.point for result in results if result.reached}
    return list(dict.fromkeys(result.point for result in results if result.point not in reached))


def _next_of(todo: queue.SimpleQueue[tuple[CutPoint, int]]) -> tuple[CutPoint, int] | None:
    try:
        return todo.get_nowait()
    except queue.Empty:
        return None


def _tell(result: Result) -> None:
    reached = "" if result.reached else " (there was no such write)"
    print(f"{result.point}{reached}: {'; '.join(result.problems) or 'as without a fault'}", flush=True)
