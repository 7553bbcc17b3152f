"""What routers and probes of the stories count: exact quantiles of one latency law, nothing by chance."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from statistics import NormalDist

from chaffinch.domain.evidence import ArmEvidence, LatencyMetric
from chaffinch.domain.grid import EDGES_SECONDS, Histogram

MEDIAN_SECONDS = 0.2
SIGMA = 0.3


@cache
def arm(requests: int, *, slowness: float = 1.0, errors: float = 0.0) -> ArmEvidence:
    """Return what was counted of so many requests: lognormal latencies, failures unbounded.

    The i-th of n requests took as long as the (i + 1/2) / n quantile; the slowest ones are those that failed.
    """
    failed = round(requests * errors)
    shares = _shares(slowness)
    below = [min(requests - failed, math.floor(requests * share + 0.5)) for share in shares]
    latencies = Histogram(tuple(after - before for before, after in pairwise([0, *below, requests])))
    return ArmEvidence(requests, failed, {LatencyMetric.TTFT: latencies, LatencyMetric.E2E: latencies})


@cache
def _shares(slowness: float) -> tuple[float, ...]:
    """Return which share of all requests takes no longer than each edge of the grid."""
    law = NormalDist(math.log(MEDIAN_SECONDS * slowness), SIGMA)
    return tuple(law.cdf(math.log(edge)) for edge in EDGES_SECONDS)
