"""From scraped counters to both arms of a step: whole vectors only, and differences of one agent's own.

Each scrape of an agent gives one :class:`~chaffinch.domain.block_vector.BlockVector` per revision. A scrape
counts when the vectors of all revisions that were asked about are whole (their checksums hold). What
an agent counted within the step is its newest such scrape minus the one in which the step's first
block had not been counted yet, or minus the first one that there is of the step, if it was scraped only
later; an agent whose vectors began within the step counts from zero. An agent for which the start is
not known is left out, with both of its arms, so that the arms stay comparable. Agents are added up, at
the edges that all of them have, and only up to the horizon: a router stops waiting for an answer there,
so what it counts at later edges is no latency.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from operator import sub

from chaffinch.domain.block_vector import (
    BLOCK_SECONDS,
    COUNTED,
    ERRORS,
    HORIZON_SECONDS,
    BlockVector,
    BrokenVectorError,
    LatencyCounts,
)
from chaffinch.domain.evidence import ArmEvidence, Evidence, LatencyMetric, Problem
from chaffinch.domain.grid import EDGES_SECONDS
from chaffinch.domain.prometheus_reply import CountSeries, UnusableReplyError, Window
from chaffinch.domain.vector_series import decode, own_label

_NEWEST = 2
_HORIZON = bisect_right(EDGES_SECONDS, HORIZON_SECONDS)
"""The first edge beyond the horizon."""

NOT_YET_COUNTED = "no router has counted the step's first block yet"

Snapshot = Mapping[str, BlockVector]
"""The vectors of one scrape of one agent, by revision."""

Scrapes = Mapping[int, Snapshot]
"""The whole snapshots of one agent by time of scrape, in Unix milliseconds."""

Samples = dict[tuple[str, str], float]
"""What was scraped of one vector, as :func:`chaffinch.domain.vector_series.decode` takes it."""


@dataclass(frozen=True, slots=True)
class Arms:
    """Whose requests are asked about."""

    candidate: str
    stable: str | None

    @property
    def revisions(self) -> frozenset[str]:
        """Every revision that is asked about."""
        return frozenset({self.candidate} if self.stable is None else {self.candidate, self.stable})


@dataclass(frozen=True, slots=True)
class _Span:
    """What one agent counted within the step: from (exclusive; None: from zero) and to, per revision."""

    start: Snapshot | None
    end: Snapshot


def first_block_of(since: datetime) -> int:
    """Return a step's first block: the first one that begins when the step does, or later."""
    return math.ceil(since.timestamp() / BLOCK_SECONDS)


def starts_of(since: datetime, scrapes: Mapping[str, Scrapes]) -> dict[str, Snapshot]:
    """Return, by agent, what had been counted when the step started: all blocks before its first.

    What the scrapes that are missing would have shown cannot be had any more. Then evidence begins with
    the first scrape that there is.

    Args:
        since: When the step started.
        scrapes: What was scraped in some minutes after that, by agent.
    """
    needed = first_block_of(since) - 1
    starts = {}
    for agent, whole in scrapes.items():
        counted = [whole[at] for at in sorted(whole) if _counted_to(whole[at]) >= needed]
        if counted:
            starts[agent] = counted[0]
    return starts


def evidence_of(
    arms: Arms, since: datetime, starts: Mapping[str, Snapshot], ends: Mapping[str, Scrapes]
) -> Evidence:
    """Return both arms since the step's start.

    Args:
        arms: Whose requests.
        since: When the step started.
        starts: What :func:`starts_of` gave.
        ends: What was scraped last, by agent.

    Raises:
        UnusableReplyError: If there is nothing to read, or something that cannot be.
    """
    if not ends:
        raise UnusableReplyError(Problem.NO_DATA, "the routers export nothing about this attempt")
    first_block = first_block_of(since)
    found = [_span(starts.get(agent), scrapes, first_block) for agent, scrapes in ends.items()]
    spans = [span for span in found if span is not None]
    if not spans:
        raise UnusableReplyError(Problem.NO_DATA, NOT_YET_COUNTED)
    newest = min(_counted_to(span.end) for span in spans)
    return Evidence(
        candidate=_arm(spans, arms.candidate),
        control=None if arms.stable is None else _arm(spans, arms.stable),
        until=datetime.fromtimestamp(0, UTC) + timedelta(seconds=(newest + 1) * BLOCK_SECONDS),
    )


def newest_of(scrapes: Scrapes, window: Window) -> Scrapes:
    """Return the newest scrapes of one agent in a window: of two it can be seen that no counter went down."""
    return {at: scrapes[at] for at in sorted(scrapes)[-_NEWEST:] if at >= window.start * 1000}


def scrapes_of(series: Iterable[CountSeries], revisions: frozenset[str]) -> dict[str, Scrapes]:
    """Return the whole snapshots of every agent; of an agent without one, no snapshot.

    Raises:
        UnusableReplyError: If a series has no agent, or belongs to a revision that was not asked
            about, or one counter of one scrape is there twice.
    """
    samples: dict[str, dict[int, dict[str, Samples]]] = {}
    for labels, counted in series:
        metric, revision, agent = (
            labels.get("__name__", ""),
            labels.get("revision", ""),
            labels.get("agent", ""),
        )
        if not agent or revision not in revisions:
            raise UnusableReplyError(Problem.UNAVAILABLE, "the reply holds a series that was not asked for")
        key = (metric, labels.get(own_label(metric), ""))
        by_time = samples.setdefault(agent, {})
        for at, count in counted:
            vector = by_time.setdefault(at, {}).setdefault(revision, {})
            if key in vector:
                raise UnusableReplyError(Problem.UNAVAILABLE, "the reply holds one counter of one time twice")
            vector[key] = count
    return {agent: _whole(by_time, revisions) for agent, by_time in samples.items()}


def _whole(by_time: Mapping[int, Mapping[str, Samples]], revisions: frozenset[str]) -> Scrapes:
    whole: dict[int, Snapshot] = {}
    for at, vectors in sorted(by_time.items()):
        # A scrape that was cut, or mixed from two, says nothing. The next one will.
        with suppress(BrokenVectorError):
            whole[at] = {revision: decode(vectors.get(revision, {})) for revision in sorted(revisions)}
    return whole


def _span(start: Snapshot | None, scrapes: Scrapes, first_block: int) -> _Span | None:
    """Return what an agent counted since a block, or None if it has not, or that cannot be known."""
    if not scrapes:
        raise UnusableReplyError(
            Problem.NO_DATA,
            "a router's counters form no whole vector: series are missing or scrapes are mixed",
        )
    snapshots = [scrapes[at] for at in sorted(scrapes)]
    end = snapshots[-1]
    if _counted_to(end) < first_block:
        return None
    if all(vector.first_block >= first_block for vector in end.values()):
        start, known = None, snapshots
    elif start is None:
        return None
    else:
        # The last minutes may reach back beyond the start.
        known = [start, *(each for each in snapshots if _counted_to(each) > _counted_to(start))]
    if not all(_follows(before, after) for before, after in pairwise(known)):
        raise UnusableReplyError(Problem.UNAVAILABLE, "a counter of one router process went down")
    return _Span(start, end)


def _counted_to(snapshot: Snapshot) -> int:
    return min(vector.block for vector in snapshot.values())


def _follows(before: Snapshot, after: Snapshot) -> bool:
    return all(_vector_follows(before[revision], vector) for revision, vector in after.items())


def _vector_follows(before: BlockVector, after: BlockVector) -> bool:
    if after.first_block != before.first_block or after.block < before.block:
        return False
    try:
        for pick in (_ttft, _e2e, _left):
            _difference(pick(after), pick(before))
    except BrokenVectorError:
        return False
    return all(a <= b for a, b in zip(before.requests, after.requests, strict=True))


def _arm(spans: list[_Span], revision: str) -> ArmEvidence:
    ends = [span.end[revision] for span in spans]
    before = [span.start[revision] for span in spans if span.start is not None]
    ttft, e2e, left = (
        _total([_counted(span, revision, pick) for span in spans]) for pick in (_ttft, _e2e, _left)
    )
    return ArmEvidence(
        requests=sum(v.count(COUNTED) for v in ends) - sum(v.count(COUNTED) for v in before),
        errors=sum(v.count(ERRORS) for v in ends) - sum(v.count(ERRORS) for v in before),
        latencies={LatencyMetric.TTFT: ttft.histogram(), LatencyMetric.E2E: e2e.histogram()},
        edges={LatencyMetric.TTFT: ttft.edges, LatencyMetric.E2E: e2e.edges},
        left={LatencyMetric.TTFT: left.histogram()},
    )


def _ttft(vector: BlockVector) -> LatencyCounts:
    return vector.ttft


def _e2e(vector: BlockVector) -> LatencyCounts:
    return vector.e2e


def _left(vector: BlockVector) -> LatencyCounts:
    return vector.left


def _counted(span: _Span, revision: str, pick: Callable[[BlockVector], LatencyCounts]) -> LatencyCounts:
    after = pick(span.end[revision])
    return after if span.start is None else _difference(after, pick(span.start[revision]))


def _difference(after: LatencyCounts, before: LatencyCounts) -> LatencyCounts:
    """Subtract at the edges that both have: a new route may have changed them."""
    shared = _shared([after, before])
    less = map(sub, _at(after, shared), _at(before, shared))
    return LatencyCounts(shared, tuple(less), after.total - before.total)


def _total(parts: list[LatencyCounts]) -> LatencyCounts:
    """Add up at the edges that all of them have, and that can be believed."""
    shared = _shared(parts)
    shared = shared[: bisect_left(shared, _HORIZON)]
    columns = zip(*(_at(part, shared) for part in parts), strict=True)
    return LatencyCounts(shared, tuple(map(sum, columns)), sum(part.total for part in parts))


def _shared(parts: list[LatencyCounts]) -> tuple[int, ...]:
    """Return the edges that all of them have; nearly always they have the same."""
    different = {part.edges for part in parts}
    return different.pop() if len(different) == 1 else tuple(sorted(set.intersection(*map(set, different))))


def _at(latency: LatencyCounts, edges: tuple[int, ...]) -> Sequence[int]:
    if latency.edges == edges:
        return latency.counts
    counts = dict(zip(latency.edges, latency.counts, strict=True))
    return [counts[edge] for edge in edges]
