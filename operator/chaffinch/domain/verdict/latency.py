"""Two latency histograms compared at a quantile, and one compared with a limit: exact tests.

Comparison at margin r, which is a whole number of buckets (``shift``): dividing the canary's
latencies by r moves each of them down by exactly ``shift`` buckets. Pool the moved canary and the
control, N requests in all, and look at the tail of the pool that is nearest to (1 - p) N: it holds k
requests, x of them the canary's. If the canary, divided by r, and the control have the same law, then
any assignment of the N values to the arms is equally likely, and x is hypergeometric: k draws of N
with n_c marked, whatever the law is, however the traffic is split, and whatever both arms went through.

    slower than r x control:   log P(X >= x) <= log alpha        (the canary fails)
    faster than r x control:   log P(X <= x) <= log alpha        (harm beyond r is ruled out)

It is exact because of four things. Both arms share the grid, so bucket edges give no ties to break.
The tail is chosen from the pooled counts alone, which know no arms. A threshold is used only where
the source counted both arms at it (the control at edge t, the canary at edge t + shift). And a
request that never finished stays infinite under any margin: only edges are moved, and the overflow
bucket lies above all of them. The requests must be exchangeable; autocorrelated traffic is not, which
is what the floors, the small alphas and the point estimate (below) leave room for.

Who left without an answer is known to have waited longer at some edges only (see
:mod:`chaffinch.domain.verdict.counts`): N and n_c are the numbers that are known at the edge.

A tail test speaks about the whole law. So that it answers for the quantile that was asked, a
rejection counts only if the two quantiles themselves agree with it (the same comparison of their
buckets); this can only make a verdict rarer.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from chaffinch.domain.grid import EDGE_COUNT, EDGES_SECONDS, GROWTH
from chaffinch.domain.verdict import tails
from chaffinch.domain.verdict.counts import Latencies

PASS_UP_TO = 1.08
_ROUNDING = 1e-9  # edges and limits are computed numbers; this is far below a bucket's width
_WIDEST = 128  # buckets: a factor of 50; bounds of a ratio beyond it are said to be unbounded


@dataclass(frozen=True, slots=True)
class Comparison:
    """The canary's latencies beside a control's, at one quantile.

    Attributes:
        canary: The canary's latencies.
        control: What they are compared with.
        quantile: The quantile, as a share.
    """

    canary: Latencies
    control: Latencies
    quantile: float

    def slower(self, shift: int, log_alpha: float) -> bool:
        """Return whether the canary is proven slower than the control times ``GROWTH ** shift``."""
        gap = self.gap()
        return gap is not None and gap > shift and self._log_tail(shift, upper=True) <= log_alpha

    def faster(self, shift: int, log_alpha: float) -> bool:
        """Return whether the canary is proven faster than the control times ``GROWTH ** shift``."""
        gap = self.gap()
        return gap is not None and gap < shift and self._log_tail(shift, upper=False) <= log_alpha

    def gap(self) -> int | None:
        """Return how many buckets the canary's quantile lies above the control's; None without both."""
        canary = self.canary.quantile_bucket(self.quantile)
        control = self.control.quantile_bucket(self.quantile)
        return None if canary is None or control is None else canary - control

    def interval(self, log_low: float, log_high: float) -> tuple[float | None, float | None]:
        """Return bounds of the ratio of the quantiles: where the tests at these levels turn.

        Args:
            log_low: Logarithm of the level of the lower bound, that of the test to fail.
            log_high: Logarithm of the level of the upper bound, that of the test to pass.
        """
        gap = self.gap()
        if gap is None:
            return None, None
        low = _nearest(lambda distance: self._log_tail(gap - distance, upper=True) <= log_low)
        high = _nearest(lambda distance: self._log_tail(gap + distance, upper=False) <= log_high)
        return (
            None if low is None else GROWTH ** (gap - low),
            None if high is None else GROWTH ** (gap + high),
        )

    def _log_tail(self, shift: int, *, upper: bool) -> float:
        tail = self._tail(shift)
        if tail is None:
            return 0.0
        tail_of = tails.log_hypergeometric_upper if upper else tails.log_hypergeometric_lower
        return tail_of(tail.canary, tail.canary_known, tail.pooled, tail.known)

    def _tail(self, shift: int) -> _Tail | None:
        """Return the pooled tail that is nearest to the quantile's, or None where none tells."""
        first, last = max(0, -shift), min(EDGE_COUNT, EDGE_COUNT - shift)
        if first >= last:
            return None
        moved = slice(first + shift, last + shift)
        canary, canary_known = self.canary.above()[moved], self.canary.known()[moved]
        pooled = canary + self.control.above()[first:last]
        known = canary_known + self.control.known()[first:last]
        tells = self.canary.counted()[moved] & self.control.counted()[first:last]
        tells &= (pooled > 0) & (pooled < known)
        if not tells.any():
            return None
        distance = np.where(tells, np.abs(pooled - (1 - self.quantile) * known), math.inf)
        best = int(np.argmin(distance))
        return _Tail(int(canary[best]), int(canary_known[best]), int(pooled[best]), int(known[best]))


@dataclass(frozen=True, slots=True)
class _Tail:
    """The tail of two pooled arms above one edge.

    Attributes:
        canary: How many of the canary's requests lie above.
        canary_known: Of how many of the canary's it is known.
        pooled: How many of both arms' lie above.
        known: Of how many of both arms' it is known.
    """

    canary: int
    canary_known: int
    pooled: int
    known: int


@dataclass(frozen=True, slots=True)
class LimitTest:
    """One arm's latencies beside a limit on a quantile.

    The number of requests above a fixed edge is binomial. A limit falls between two edges, so the
    canary fails on the first counted edge at or above the limit, and passes on the last one at or below
    ``PASS_UP_TO`` times the limit: neither is ever said of a canary that the true limit would spare.

    Attributes:
        latencies: The arm's latencies.
        quantile: The quantile, as a share.
        limit: The limit in seconds.
    """

    latencies: Latencies
    quantile: float
    limit: float

    def over(self, log_alpha: float) -> bool:
        """Return whether the quantile is proven to lie above the limit."""
        edge = next((e for e in self._edges() if EDGES_SECONDS[e] >= self.limit * (1 - _ROUNDING)), None)
        return edge is not None and self._proven_above(edge, log_alpha)

    def under(self, log_alpha: float) -> bool:
        """Return whether the quantile is at most the limit and proven below ``PASS_UP_TO`` times it."""
        most = self.limit * PASS_UP_TO * (1 + _ROUNDING)
        edge = next((e for e in reversed(self._edges()) if EDGES_SECONDS[e] <= most), None)
        return edge is not None and self.keeps() and self._proven_below(edge, log_alpha)

    def keeps(self) -> bool:
        """Return whether the quantile, as measured, is at most the limit."""
        seconds = self.latencies.quantile_seconds(self.quantile)
        return seconds is not None and seconds <= self.limit * (1 + _ROUNDING)

    def interval(self, log_low: float, log_high: float) -> tuple[float | None, float | None]:
        """Return bounds of the quantile in seconds: where the tests at these levels turn."""
        if not self.latencies.seen:
            return None, None
        edges = self._edges()
        # The share above an edge only falls with the edge, so each test turns at one edge.
        low = bisect_left(edges, 1, key=lambda edge: int(not self._proven_above(edge, log_low))) - 1
        high = bisect_left(edges, 1, key=lambda edge: int(self._proven_below(edge, log_high)))
        return (
            EDGES_SECONDS[edges[low]] if low >= 0 else None,
            EDGES_SECONDS[edges[high]] if high < len(edges) else None,
        )

    def _edges(self) -> tuple[int, ...]:
        return tuple(range(EDGE_COUNT)) if self.latencies.edges is None else self.latencies.edges

    def _proven_above(self, edge: int, log_alpha: float) -> bool:
        count, known = self._above(edge)
        return tails.log_binomial_upper(count, known, 1 - self.quantile) <= log_alpha

    def _proven_below(self, edge: int, log_alpha: float) -> bool:
        count, known = self._above(edge)
        return tails.log_binomial_lower(count, known, 1 - self.quantile) <= log_alpha

    def _above(self, edge: int) -> tuple[int, int]:
        """Return how many requests took longer than an edge, and of how many it is known."""
        return int(self.latencies.above()[edge]), int(self.latencies.known()[edge])


def _nearest(rejects: Callable[[int], bool]) -> int | None:
    """Return the smallest distance in buckets at which a test rejects, or None up to the widest."""
    reach = 1
    while not rejects(reach):
        reach *= 2
        if reach > _WIDEST:
            return None
    within = range(reach // 2 + 1, reach + 1)
    return within[bisect_left(within, 1, hi=len(within) - 1, key=lambda distance: int(rejects(distance)))]
