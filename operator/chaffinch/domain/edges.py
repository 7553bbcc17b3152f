"""Chooses the edges of the global grid at which routers export their latency histograms.

Exporting all 547 would cost Prometheus some 2,000 series per arm and router. Fine edges (every one of
the grid) are needed only around the latencies that are judged; elsewhere every fifth one, a factor of
about 1.13, is enough to draw a distribution.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from chaffinch.api.v1alpha1.quantities import latency_seconds
from chaffinch.api.v1alpha1.rollout import Objective
from chaffinch.domain.block_vector import HORIZON_SECONDS
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.grid import EDGES_SECONDS, bucket_of

_EDGES = bisect_right(EDGES_SECONDS, HORIZON_SECONDS)
"""How many edges of the grid there are up to the horizon; later ones can't be counted at."""
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
    if not limits:
        return tuple(range(_EDGES))
    low = bucket_of(max(min(limits) * _BELOW, EDGES_SECONDS[0]))
    high = bucket_of(max(limits) * _ABOVE)
    return tuple(i for i in range(_EDGES) if low <= i <= high or i % _COARSE == 0)
