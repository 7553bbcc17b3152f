"""The one latency grid that router, probe, baseline and verdict share.

Every latency histogram uses the same bucket edges, so that counts from any two sources can be
added and compared exactly, and so that dividing a latency by a margin of 1.05 is a shift by
exactly two buckets.

``edge(i) = 1 ms * 1.05 ** (i / 2)`` for ``i = 0 .. 546``, which spans 1 ms to about 610 s.
Bucket ``i`` holds values in ``(edge(i - 1), edge(i)]``; bucket 0 also holds everything below
1 ms, and bucket ``OVERFLOW`` holds everything above the last edge, including requests that
never finished (a latency of +infinity).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

EDGE_COUNT = 547
OVERFLOW = EDGE_COUNT
BUCKET_COUNT = EDGE_COUNT + 1
GROWTH = 1.05**0.5
FIRST_EDGE_SECONDS = 0.001
COARSE = 8
"""Every so manieth edge makes a grid that is fine enough for a picture: a factor of 1.22."""

EDGES_SECONDS: tuple[float, ...] = tuple(FIRST_EDGE_SECONDS * 1.05 ** (i / 2) for i in range(EDGE_COUNT))


def bucket_of(seconds: float) -> int:
    """Return the index of the bucket that holds a latency.

    Args:
        seconds: A latency in seconds; ``math.inf`` stands for a request that never finished.

    Raises:
        ValueError: If the latency is negative or not a number.
    """
    if not seconds >= 0:
        raise ValueError(f"a latency must be a number of seconds >= 0, not {seconds!r}")
    if seconds > EDGES_SECONDS[-1]:
        return OVERFLOW
    if seconds <= FIRST_EDGE_SECONDS:
        return 0
    guess = math.ceil(2 * math.log(seconds / FIRST_EDGE_SECONDS) / math.log(1.05))
    while EDGES_SECONDS[guess - 1] >= seconds:
        guess -= 1
    while EDGES_SECONDS[guess] < seconds:
        guess += 1
    return guess


def shift_of(margin: float) -> int:
    """Return a margin as a whole number of buckets, rounded down.

    Args:
        margin: A ratio of two latencies, 1.0 or more; 1.05 is 2 buckets, 1.08 is 3.
    """
    if not 1 <= margin < math.inf:
        raise ValueError(f"a margin must be a finite ratio of 1 or more, not {margin!r}")
    return math.floor(math.log(margin) / math.log(GROWTH) + 1e-9)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of latencies on the global grid.

    Attributes:
        counts: One non-negative count per bucket, ``BUCKET_COUNT`` of them; the last one is the
            overflow bucket.
    """

    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse counts that are not on the grid."""
        if len(self.counts) != BUCKET_COUNT:
            raise ValueError(f"a histogram has {BUCKET_COUNT} buckets, not {len(self.counts)}")
        if min(self.counts) < 0:
            raise ValueError("a histogram cannot hold a negative count")

    @classmethod
    def empty(cls) -> Histogram:
        """Return the histogram of no latencies."""
        return cls((0,) * BUCKET_COUNT)

    @classmethod
    def of(cls, latencies: Iterable[float]) -> Histogram:
        """Return the histogram of latencies in seconds (``math.inf`` for unfinished requests)."""
        counts = [0] * BUCKET_COUNT
        for seconds in latencies:
            counts[bucket_of(seconds)] += 1
        return cls(tuple(counts))

    @property
    def total(self) -> int:
        """How many latencies the histogram holds."""
        return sum(self.counts)

    def __add__(self, other: Histogram) -> Histogram:
        """Add the counts of two histograms, bucket by bucket."""
        return Histogram(tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)))

    def above(self, bucket: int) -> int:
        """Return how many latencies lie in buckets after ``bucket``."""
        return sum(self.counts[bucket + 1 :])

    def quantile_bucket(self, p: float) -> int | None:
        """Return the bucket that holds the ``p`` quantile, or None of an empty histogram.

        The quantile is the smallest value with at least a share ``p`` of all latencies at or below it.
        """
        total = self.total
        if total == 0:
            return None
        need = max(1, math.ceil(p * total - 1e-9))
        seen = 0
        for bucket, count in enumerate(self.counts):
            seen += count
            if seen >= need:
                return bucket
        raise AssertionError("unreachable: the counts add up to the total")

    def quantile_seconds(self, p: float) -> float | None:
        """Return the upper edge of the quantile's bucket in seconds; infinity when unbounded."""
        bucket = self.quantile_bucket(p)
        if bucket is None:
            return None
        return math.inf if bucket == OVERFLOW else EDGES_SECONDS[bucket]


def encode(counts: Sequence[int]) -> str:
    """Write sparse counts as text: ``bucket:count`` pairs in rising order, joined by spaces."""
    return " ".join(f"{bucket}:{count}" for bucket, count in enumerate(counts) if count)


def decode(text: str) -> Histogram:
    """Read what :func:`encode` wrote.

    Raises:
        ValueError: If the text is not a rising list of ``bucket:count`` pairs on the grid.
    """
    counts = [0] * BUCKET_COUNT
    last = -1
    for pair in text.split():
        bucket_text, colon, count_text = pair.partition(":")
        if not (colon and _is_plain_number(bucket_text) and _is_plain_number(count_text)):
            raise ValueError("a sketch is a list of bucket:count pairs")
        bucket, count = int(bucket_text), int(count_text)
        if not last < bucket < BUCKET_COUNT or count == 0:
            raise ValueError("a sketch lists positive counts in rising buckets of the grid")
        counts[bucket] = count
        last = bucket
    return Histogram(tuple(counts))


def _is_plain_number(text: str) -> bool:
    # str.isdigit takes superscripts and Arabic digits, int() takes underscores and signs.
    return 0 < len(text) <= 15 and text.isascii() and text.isdigit()
