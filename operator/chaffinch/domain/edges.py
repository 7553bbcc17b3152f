"""Chooses the edges of the global grid at which routers export their latency histograms.

A verdict is exact at exported edges, and blind elsewhere. What it needs:

* a ``max`` needs every edge around it (fine), and between them its quantile;
* a ``maxRegression`` compares edges that lie its margin apart, two buckets or so, near a quantile that
  nobody knows beforehand: it needs every edge up to where a ``max`` decides anyway;
* what no objective gates needs a picture only: every eighth edge (coarse, a factor of 1.22). No harm, a
  ratio of 16 buckets, can be seen from those too, so they are exported everywhere.

Of these edges only those are series at which something was counted (see :mod:`.vector_series`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from chaffinch.api.v1alpha1.quantities import latency_seconds
from chaffinch.api.v1alpha1.rollout import Objective
from chaffinch.domain.block_vector import HORIZON_SECONDS
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.grid import COARSE, EDGES_SECONDS, bucket_of

_EDGES = bisect_right(EDGES_SECONDS, HORIZON_SECONDS)
"""How many edges of the grid there are up to the horizon; later ones can't be counted at."""
_BELOW = 1 / 8
_ABOVE = 4


def edges_of(objectives: Sequence[Objective], metric: LatencyMetric) -> tuple[int, ...]:
    """Return the indices of the exported edges, rising.

    Args:
        objectives: The objectives in force.
        metric: TTFT or E2E.
    """
    gated = [each for each in objectives if each.metric.value == metric]
    limits = tuple(latency_seconds(each.max) for each in gated if each.max)
    return _edges(limits, compared=any(each.max_regression for each in gated))


@lru_cache(maxsize=256)
def _edges(limits: tuple[float, ...], *, compared: bool) -> tuple[int, ...]:
    fine = _fine(limits, compared=compared)
    return tuple(edge for edge in range(_EDGES) if edge in fine or edge % COARSE == 0)


def _fine(limits: Sequence[float], *, compared: bool) -> range:
    if not limits:
        return range(_EDGES if compared else 0)
    lowest = 0 if compared else bucket_of(min(limits) * _BELOW)
    return range(lowest, bucket_of(max(limits) * _ABOVE) + 1)
