"""The latched counters of one revision and attempt, as the router exports them and the reader checks them.

A router's agent books requests in blocks of ten seconds and adds a block to its exported counters
only when nothing more can change in it. A scrape can still mix two moments: two agents behind one
address, two Prometheus replicas, a scrape that was cut. So the counters of one arm travel as one
vector with a checksum over all of its counts. Writer and reader share this module and
:mod:`~chaffinch.domain.vector_series`, and a vector whose checksum does not hold is no evidence.

Canonical text of a vector, whose CRC-32 (zlib) is the checksum::

    "<first_block>|<block>|" + ";".join("<series>=<count>" for each count in canonical order)

Canonical order: ``requests_total`` by :class:`Outcome` in order of definition, then the TTFT
buckets by rising edge, ``+Inf``, the TTFT count, then the same of E2E and of the ages at which
clients left. A count is named as in the exposition, with its own label only:
``chaffinch_router_requests_total{outcome="ok"}``.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain

from chaffinch.domain.grid import BUCKET_COUNT, EDGE_COUNT, EDGES_SECONDS, OVERFLOW, Histogram

BLOCK_SECONDS = 10
HORIZON_SECONDS = 60
"""How long after a block's end its open requests are waited for. What is open then is longer than
every edge up to here, and counts as unbounded: counts at later edges say nothing."""

REQUESTS = "chaffinch_router_requests_total"
TTFT = "chaffinch_router_ttft_seconds"
E2E = "chaffinch_router_e2e_seconds"
LEFT = "chaffinch_router_left_seconds"
BLOCK_ID = "chaffinch_router_block_id"
FIRST_BLOCK_ID = "chaffinch_router_first_block_id"
CHECKSUM = "chaffinch_router_block_checksum"

_MOST_FORMS = 256  # of so many pairs of edges the form of a vector is kept


class Outcome(StrEnum):
    """What became of one request, as its client saw it.

    The order of definition is the canonical order of the series; a new outcome goes to the end.
    """

    OK = "ok"
    ERROR_5XX = "error_5xx"
    """The engine answered with a status of 500 or more."""
    ERROR_REFUSED = "error_refused"
    """No connection to an engine could be had."""
    ERROR_RESET = "error_reset"
    """The connection broke before the answer began."""
    ERROR_CUT = "error_cut"
    """The answer began, and the engine broke it off."""
    ERROR_EMPTY = "error_empty"
    """A stream that ended well and held no event."""
    CLIENT_4XX = "client_4xx"
    """A status of 400 to 499 other than 429."""
    THROTTLED = "throttled"
    """A status of 429."""
    CLIENT_GONE_EARLY = "client_gone_early"
    """The client left before the first byte of the answer's body."""
    CLIENT_GONE_LATE = "client_gone_late"
    """The client left while it was being answered."""


ERRORS = frozenset(
    {
        Outcome.ERROR_5XX,
        Outcome.ERROR_REFUSED,
        Outcome.ERROR_RESET,
        Outcome.ERROR_CUT,
        Outcome.ERROR_EMPTY,
    }
)
"""Failures of the revision: the numerator of the error rate."""

COUNTED = ERRORS | {Outcome.OK}
"""Requests that the revision answered or failed to answer: the denominator of the error rate."""


class BrokenVectorError(ValueError):
    """Samples that are not one whole vector; the text says which check failed."""


@dataclass(frozen=True, slots=True)
class LatencyCounts:
    """Cumulative counts of one latency at some edges of the global grid.

    Attributes:
        edges: Rising indices into ``grid.EDGES_SECONDS``.
        counts: How many latencies are at or below each of those edges.
        total: How many latencies there are, unbounded ones included.
    """

    edges: tuple[int, ...]
    counts: tuple[int, ...]
    total: int

    def __post_init__(self) -> None:
        """Refuse counts that are not cumulative."""
        if len(self.edges) != len(self.counts):
            raise BrokenVectorError("a latency needs one count per edge")
        if not _rises((0, *self.edges, EDGE_COUNT - 1)) or len(set(self.edges)) < len(self.edges):
            raise BrokenVectorError("the edges of a latency must be rising indices of the grid")
        if not _rises((0, *self.counts, self.total)):
            raise BrokenVectorError("the counts of a latency must rise with its edges, up to the total")

    @classmethod
    def of(cls, buckets: tuple[int, ...] | list[int], edges: tuple[int, ...]) -> LatencyCounts:
        """Return grid buckets (``BUCKET_COUNT`` plain counts) as cumulative counts at ``edges``."""
        wanted = set(edges)
        counts = []
        seen = 0
        for bucket, count in enumerate(buckets):
            seen += count
            if bucket in wanted:
                counts.append(seen)
        return cls(edges, tuple(counts), seen)

    def histogram(self) -> Histogram:
        """Return the counts on the grid: each latency sits in the bucket of the next exported edge."""
        buckets = [0] * BUCKET_COUNT
        below = 0
        for edge, count in zip(self.edges, self.counts, strict=True):
            buckets[edge] = count - below
            below = count
        buckets[OVERFLOW] = self.total - below
        return Histogram(tuple(buckets))


@dataclass(frozen=True, slots=True)
class BlockVector:
    """Everything counted for one revision and attempt by one agent, from its first block on.

    Attributes:
        first_block: The block before which this vector holds nothing; a block's index is the Unix
            time of its start divided by ``BLOCK_SECONDS``.
        block: The newest block that is counted; ``first_block - 1`` when none is yet.
        requests: One count per outcome, in the order of :class:`Outcome`.
        ttft: Times to first token of streamed answers; failures are unbounded.
        e2e: Times to the last byte; failures are unbounded.
        left: Ages at which clients left before the first byte: times that a first token did not come
            in. At the edges of ``ttft``.
    """

    first_block: int
    block: int
    requests: tuple[int, ...]
    ttft: LatencyCounts
    e2e: LatencyCounts
    left: LatencyCounts

    def __post_init__(self) -> None:
        """Refuse a vector that could not have been counted."""
        if len(self.requests) != len(Outcome) or any(count < 0 for count in self.requests):
            raise BrokenVectorError("a vector needs one count of 0 or more per outcome")
        if self.block < self.first_block - 1:
            raise BrokenVectorError("a vector cannot end before its first block")
        if self.left.edges != self.ttft.edges:
            raise BrokenVectorError("who left is counted at the edges of the time to first token")

    def count(self, outcomes: frozenset[Outcome]) -> int:
        """Return how many requests had one of these outcomes."""
        return sum(
            count for outcome, count in zip(Outcome, self.requests, strict=True) if outcome in outcomes
        )

    def canonical_text(self) -> str:
        """Return the text that the checksum is made of."""
        form = _canonical_form(self.ttft.edges, self.e2e.edges)
        return form % (self.first_block, self.block, *self._counts())

    def checksum(self) -> int:
        """Return the CRC-32 of the canonical text."""
        return zlib.crc32(self.canonical_text().encode())

    def _counts(self) -> tuple[int, ...]:
        latencies = (self.ttft, self.e2e, self.left)
        return (
            *self.requests,
            *chain.from_iterable((*each.counts, each.total, each.total) for each in latencies),
        )


def le_text(edge: int) -> str:
    """Return an edge as the text of its ``le`` label.

    Nine digits tell all edges apart and are the same on every platform, whose powers may differ in
    the last bit. Prometheus keeps such a text as it is.
    """
    return f"{EDGES_SECONDS[edge]:.9g}"


@lru_cache(maxsize=_MOST_FORMS)
def _names(ttft: tuple[int, ...], e2e: tuple[int, ...]) -> tuple[tuple[str, str, str], ...]:
    """Return metric, own label and its value of each count, in canonical order."""
    names = [(REQUESTS, "outcome", outcome.value) for outcome in Outcome]
    for metric, edges in ((TTFT, ttft), (E2E, e2e), (LEFT, ttft)):
        names += [(f"{metric}_bucket", "le", text) for text in (*map(le_text, edges), "+Inf")]
        names.append((f"{metric}_count", "", ""))
    return tuple(names)


@lru_cache(maxsize=_MOST_FORMS)
def _canonical_form(ttft: tuple[int, ...], e2e: tuple[int, ...]) -> str:
    """Return the canonical text of all vectors with these edges, with ``%d`` for each number."""
    texts = (
        f'{metric}{{{label}="{value}"}}' if label else metric for metric, label, value in _names(ttft, e2e)
    )
    return "%d|%d|" + ";".join(f"{text}=%d" for text in texts)


def _rises(numbers: tuple[int, ...]) -> bool:
    """Tell whether no number is less than the one before it."""
    return sorted(numbers) == list(numbers)
