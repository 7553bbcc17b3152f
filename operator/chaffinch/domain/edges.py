"""Chooses the edges of the global grid at which routers export their latency histograms.

Exporting all 547 would cost Prometheus some 2,000 series per arm and router. Fine edges (every one of
the grid) are needed only around the latencies that are judged; elsewhere every fifth one, a factor of
about 1.13, is enough to draw a distribution.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaffinch.api.v1alpha1.quantities import latency_seconds
from chaffinch.api.v1alpha1.rollout import Objective
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.grid import EDGES_SECONDS, bucket_of

_LARGEST_SECONDS = 120.0
"""Requests are counted as unbounded long before this age (a block matures after 60 s)."""
_COARSE = 5
_BELOW = 1 / 16
_ABOVE = 4


def edges_of(objectives: Sequence[Objective], metric: LatencyMetric) -> tuple[int, ...]:
    """Return the indices of the exported edges, rising.

    With a ``max`` for the metric, edges are fine from 1/16 of the smallest to 4 times the largest one.
    Without, nothing is known about the scale, and they are fine everywhere.

    Args:
        objectives: The objectives in force.
        metric: TTFT or E2E.
    """
    limits = [latency_seconds(each.max) for each in objectives if each.metric.value == metric and each.max]
    last = bucket_of(_LARGEST_SECONDS)
    if not limits:
        return tuple(range(last + 1))
    low = bucket_of(max(min(limits) * _BELOW, EDGES_SECONDS[0]))
    high = min(bucket_of(max(limits) * _ABOVE), last)
    return tuple(i for i in range(last + 1) if low <= i <= high or i % _COARSE == 0)
