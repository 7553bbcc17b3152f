"""What routers and probes of the stories count: exact quantiles of one latency law, nothing by chance."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

from chaffinch.domain.evidence import ArmEvidence, LatencyMetric
from chaffinch.domain.grid import Histogram

MEDIAN_SECONDS = 0.2
SIGMA = 0.3


@cache
def arm(requests: int, *, slowness: float = 1.0, errors: float = 0.0) -> ArmEvidence:
    """Return what was counted of so many requests: lognormal latencies, failures unbounded."""
    failed = round(requests * errors)
    law = NormalDist()
    ends = [
        MEDIAN_SECONDS * slowness * math.exp(SIGMA * law.inv_cdf((i + 0.5) / requests))
        for i in range(requests - failed)
    ]
    latencies = Histogram.of([*ends, *([math.inf] * failed)])
    return ArmEvidence(requests, failed, {LatencyMetric.TTFT: latencies, LatencyMetric.E2E: latencies})
