"""One arm's latencies as counts at the edges of the grid, as the tests look at them.

A request whose client left after waiting for a has no latency. It is known to have taken longer at every
edge up to a; at the edges beyond nobody knows, and it counts for nothing there. (As a latency of a it would
look fast at those, and as an unbounded one it would hide what is slow.) So the number of requests that are
known falls with the edge. The share that took longer still only falls, for who leaves the count leaves
its upper part: quantiles, and the edges at which tests turn, stay well defined.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from chaffinch.domain.evidence import ArmEvidence, LatencyMetric
from chaffinch.domain.grid import EDGE_COUNT, EDGES_SECONDS, OVERFLOW, Histogram


@dataclass(frozen=True, slots=True)
class Latencies:
    """One arm's latencies.

    Attributes:
        histogram: The counts on the grid.
        edges: Where the source counted; None for every edge of the grid.
        left: How long clients waited in vain who then left.
    """

    histogram: Histogram
    edges: tuple[int, ...] | None = None
    left: Histogram = field(default_factory=Histogram.empty)

    @classmethod
    def of(cls, arm: ArmEvidence | None, metric: LatencyMetric) -> Latencies:
        """Return an arm's latencies; of a missing arm or metric, none."""
        if arm is None or metric not in arm.latencies:
            return cls(Histogram.empty())
        left = arm.left.get(metric, Histogram.empty())
        return cls(arm.latencies[metric], arm.edges.get(metric), left)

    @property
    def answered(self) -> int:
        """How many there are, failures included."""
        return self.histogram.total

    @property
    def seen(self) -> int:
        """How many requests tell something: the answered ones, and those whose client left."""
        return self.histogram.total + self.left.total

    def quantile_bucket(self, p: float) -> int | None:
        """Return the bucket of the ``p`` quantile, OVERFLOW if it is unbounded; None of no request.

        The quantile is the lowest edge with at least a share ``p`` of all that is known there at or below.
        """
        if not self.seen:
            return None
        known = self.known()
        enough = known - self.above() >= np.maximum(1, np.ceil(p * known - 1e-9))
        return int(np.argmax(enough)) if enough.any() else OVERFLOW

    def quantile_seconds(self, p: float) -> float | None:
        """Return the upper edge of the quantile's bucket in seconds; infinity when unbounded."""
        bucket = self.quantile_bucket(p)
        if bucket is None:
            return None
        return math.inf if bucket == OVERFLOW else EDGES_SECONDS[bucket]

    def counted(self) -> npt.NDArray[np.bool_]:
        """Return for each edge of the grid whether the source counted there."""
        mask = np.ones(EDGE_COUNT, dtype=np.bool_)
        if self.edges is not None:
            mask[:] = False
            mask[list(self.edges)] = True
        return mask

    def above(self) -> npt.NDArray[np.int64]:
        """Return for each edge of the grid how many requests took longer."""
        return _above(self.histogram) + _above(self.left)

    def known(self) -> npt.NDArray[np.int64]:
        """Return for each edge of the grid of how many requests it is known whether they took longer."""
        return self.histogram.total + _above(self.left)


@lru_cache(maxsize=16)  # one judgement asks for the same four histograms dozens of times
def _above(histogram: Histogram) -> npt.NDArray[np.int64]:
    counts = np.asarray(histogram.counts, dtype=np.int64)
    longer: npt.NDArray[np.int64] = counts.sum() - np.cumsum(counts)[:EDGE_COUNT]
    longer.setflags(write=False)
    return longer
