"""Requests to blocks to latched counters: the arithmetic of the router's evidence.

A request is booked in the block of ten seconds in which it *began*. (Booked by its end, a slow
canary's requests would arrive late, and every comparison would look at its faster ones first.) A
block is added to the exported counters once nothing in it can change: when none of its requests is
open, or at the horizon after its end. What is open then has a latency above every edge up
to the horizon, so it is counted as unbounded; its first token, if Envoy has reported one, keeps its
value. Its outcome is counted when it ends, in the block that matures next. All arms mature
together, so that they can be compared over the same span of time.

The clock is an argument everywhere. Lines may come in any order: the counters of a matured block
depend only on which lines had been seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from chaffinch.agent.accesslog import LineKind, LogLine
from chaffinch.agent.classify import Result, first_token, is_evidence, result_of
from chaffinch.domain.block_vector import BLOCK_SECONDS, HORIZON_SECONDS, BlockVector, LatencyCounts, Outcome
from chaffinch.domain.grid import BUCKET_COUNT, bucket_of
from chaffinch.routing.route import Edges

SETTLE_SECONDS = 3
"""How long after its end a block waits for lines: Envoy's flush (0.5 s), the reading, and slack."""
KEEP_SECONDS = 600
"""How long the counters of an arm that no route names any more are still exported."""


@dataclass(frozen=True, slots=True, order=True)
class ArmKey:
    """Whose counters: one revision in one attempt."""

    attempt: int
    revision: str


@dataclass(slots=True)
class _Counts:
    outcomes: list[int] = field(default_factory=lambda: [0] * len(Outcome))
    ttft: list[int] = field(default_factory=lambda: [0] * BUCKET_COUNT)
    e2e: list[int] = field(default_factory=lambda: [0] * BUCKET_COUNT)
    left: list[int] = field(default_factory=lambda: [0] * BUCKET_COUNT)

    def book_outcome(self, outcome: Outcome) -> None:
        self.outcomes[_POSITION[outcome]] += 1

    def book_latencies(self, ttft: float | None, e2e: float | None, left: float | None = None) -> None:
        for buckets, seconds in ((self.ttft, ttft), (self.e2e, e2e), (self.left, left)):
            if seconds is not None:
                buckets[bucket_of(seconds)] += 1

    def add(self, other: _Counts) -> None:
        for mine, theirs in zip(self._lists(), other._lists(), strict=True):
            mine[:] = [a + b for a, b in zip(mine, theirs, strict=True)]

    def _lists(self) -> tuple[list[int], ...]:
        return (self.outcomes, self.ttft, self.e2e, self.left)


_POSITION = {outcome: position for position, outcome in enumerate(Outcome)}


@dataclass(slots=True)
class _Open:
    arm: ArmKey
    block: int
    ttft: float | None = None


@dataclass(slots=True)
class _Latched:
    first_block: int
    counts: _Counts
    touched: float


class Blocks:
    """The counters of one agent process, from the first whole block after its start.

    Attributes:
        matured: The newest block that is in the exported counters.
        late: Requests that ended after their block had matured without being open in it.
        overdue_total: Requests that were counted as unbounded at the horizon.
        forgotten: Open requests that were dropped because Envoy itself went away.
    """

    def __init__(self, now: float) -> None:
        # The block in which the process starts may have lost requests to the process before it.
        self.first_block = block_of(now) + 1
        self.matured = self.first_block - 1
        self.late = 0
        self.overdue_total = 0
        self.forgotten = 0
        self._edges = Edges()
        self._named: frozenset[ArmKey] = frozenset()
        self._latched: dict[ArmKey, _Latched] = {}
        self._pending: dict[int, dict[ArmKey, _Counts]] = {}
        self._open: dict[str, _Open] = {}
        self._overdue: dict[str, ArmKey] = {}
        self._ended: dict[str, int] = {}

    def name_arms(self, attempt: int, revisions: Iterable[str], edges: Edges, now: float) -> None:
        """Take over a route: its arms are exported from now on, with zeros until something matures.

        Counters of arms that it does not name go on for :data:`KEEP_SECONDS`, so that their last
        blocks can still be read.
        """
        self._edges = edges
        named = frozenset(ArmKey(attempt, revision) for revision in revisions)
        for arm in self._named | named:
            self._arm(arm, now).touched = now
        self._named = named

    def observe(self, line: LogLine) -> None:
        """Count one line of the access log."""
        started = block_of(line.start)
        if not is_evidence(line) or started < self.first_block:
            return
        if line.kind is LineKind.END:
            self._end(line, started)
        else:
            self._progress(line, started)

    def envoy_restarted(self, at: float) -> None:
        """Forget open requests that began before ``at``: they broke with Envoy, not with a revision."""
        last = block_of(at)
        gone = [stream for stream, request in self._open.items() if request.block <= last]
        for stream in gone:
            del self._open[stream]
        self.forgotten += len(gone) + len(self._overdue)
        self._overdue.clear()

    def advance(self, now: float) -> None:
        """Let every block mature whose time has come.

        Args:
            now: A time up to which the whole log has been read, in Unix seconds.
        """
        while self._is_mature(self.matured + 1, now):
            self._mature(self.matured + 1)
        for arm, latched in list(self._latched.items()):
            if arm not in self._named and now - latched.touched > KEEP_SECONDS:
                del self._latched[arm]

    def vectors(self) -> Iterator[tuple[ArmKey, BlockVector]]:
        """Yield the exported counters of every arm, all of the same moment."""
        for arm, latched in sorted(self._latched.items()):
            counts = latched.counts
            yield (
                arm,
                BlockVector(
                    first_block=latched.first_block,
                    block=max(self.matured, latched.first_block - 1),
                    requests=tuple(counts.outcomes),
                    ttft=LatencyCounts.of(counts.ttft, self._edges.ttft),
                    e2e=LatencyCounts.of(counts.e2e, self._edges.e2e),
                    left=LatencyCounts.of(counts.left, self._edges.ttft),
                ),
            )

    @property
    def open_requests(self) -> int:
        """How many requests have begun and not ended, as far as the log tells."""
        return len(self._open) + len(self._overdue)

    def _arm(self, arm: ArmKey, now: float) -> _Latched:
        first = max(block_of(now), self.matured + 1)
        return self._latched.setdefault(arm, _Latched(first, _Counts(), now))

    def _progress(self, line: LogLine, started: int) -> None:
        if line.stream in self._ended or line.stream in self._overdue:
            return
        block = max(started, self.matured + 1)
        request = self._open.setdefault(line.stream, _Open(_arm_key(line), block))
        request.ttft = first_token(line) if request.ttft is None else request.ttft

    def _end(self, line: LogLine, started: int) -> None:
        result = result_of(line)
        overdue = self._overdue.pop(line.stream, None)
        if overdue is not None:
            self._counts(overdue, self.matured + 1).book_outcome(result.outcome)
            return
        if line.stream in self._ended:
            return
        request = self._open.pop(line.stream, None)
        if request is None and started <= self.matured:
            self.late += 1
        block = request.block if request is not None else max(started, self.matured + 1)
        self._ended[line.stream] = block
        self._book(_arm_key(line), block, result)

    def _book(self, arm: ArmKey, block: int, result: Result) -> None:
        counts = self._counts(arm, block)
        counts.book_outcome(result.outcome)
        counts.book_latencies(result.ttft, result.e2e, result.left)

    def _counts(self, arm: ArmKey, block: int) -> _Counts:
        return self._pending.setdefault(block, {}).setdefault(arm, _Counts())

    def _is_mature(self, block: int, now: float) -> bool:
        end = (block + 1) * BLOCK_SECONDS
        if now >= end + HORIZON_SECONDS:
            return True
        return now >= end + SETTLE_SECONDS and all(request.block > block for request in self._open.values())

    def _mature(self, block: int) -> None:
        for stream, request in list(self._open.items()):
            if request.block == block:
                del self._open[stream]
                self._overdue[stream] = request.arm
                self.overdue_total += 1
                first = math.inf if request.ttft is None else request.ttft
                self._counts(request.arm, block).book_latencies(first, math.inf)
        for arm, counts in self._pending.pop(block, {}).items():
            latched = self._arm(arm, block * BLOCK_SECONDS)
            latched.counts.add(counts)
            latched.touched = (block + 1) * BLOCK_SECONDS
        self._ended = {stream: booked for stream, booked in self._ended.items() if booked > block}
        self.matured = block


def block_of(seconds: float) -> int:
    """Return the index of the block that a moment in Unix seconds lies in."""
    return math.floor(seconds / BLOCK_SECONDS)


def _arm_key(line: LogLine) -> ArmKey:
    if line.attempt is None or line.revision is None:
        raise AssertionError("only requests that are evidence are counted")
    return ArmKey(line.attempt, line.revision)
