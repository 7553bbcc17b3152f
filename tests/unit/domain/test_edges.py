from __future__ import annotations

import math

import pytest

from chaffinch.api.v1alpha1.rollout import Objective
from chaffinch.api.v1alpha1.rules.measurability import LONGEST_LIVE_SECONDS
from chaffinch.domain.block_vector import HORIZON_SECONDS, LatencyCounts
from chaffinch.domain.edges import edges_of
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.grid import EDGES_SECONDS, Histogram, bucket_of
from chaffinch.domain.verdict.counts import Latencies
from chaffinch.domain.verdict.latency import PASS_UP_TO, Comparison, LimitTest
from chaffinch.domain.verdict.questions import HARM_SHIFT
from unit.verdict.builders import MEDIAN_SECONDS, latencies

EVERY_EDGE = tuple(range(bucket_of(HORIZON_SECONDS)))
COARSE = tuple(range(0, len(EVERY_EDGE), 8))
SURELY = math.log(0.001)


def objective(limit: str | None = None, regression: str | None = None, metric: str = "ttft") -> Objective:
    limits = {"max": limit, "maxRegression": regression}
    return Objective.model_validate({"name": metric, "metric": metric, "quantile": "p95", **limits})


def exported(seconds: list[float], edges: tuple[int, ...]) -> Latencies:
    """What the judge gets of latencies that a router exports at these edges."""
    return Latencies(LatencyCounts.of(Histogram.of(seconds).counts, edges).histogram(), edges)


def test_edges_are_fine_around_the_limits() -> None:
    edges = edges_of([objective("85ms"), objective("2s")], LatencyMetric.TTFT)
    fine = range(bucket_of(0.085 / 8), bucket_of(2 * 4) + 1)
    assert edges == tuple(sorted({*fine, *COARSE}))
    assert len(edges) < len(EVERY_EDGE) * 2 / 3


def test_a_comparison_needs_every_edge_up_to_where_a_limit_decides() -> None:
    assert edges_of([objective(regression="5%")], LatencyMetric.TTFT) == EVERY_EDGE
    edges = edges_of([objective("500ms"), objective(regression="5%")], LatencyMetric.TTFT)
    assert edges == tuple(sorted({*range(bucket_of(2) + 1), *COARSE}))


def test_a_latency_that_nothing_gates_is_exported_coarsely() -> None:
    both = [
        objective("85ms", "5%"),
        Objective.model_validate({"name": "e", "metric": "errorRate", "max": "1%"}),
    ]
    assert edges_of(both, LatencyMetric.E2E) == COARSE


def test_no_edge_lies_beyond_the_horizon() -> None:
    for metric in (LatencyMetric.TTFT, LatencyMetric.E2E):
        edges = edges_of([objective("400s")], metric)
        assert EDGES_SECONDS[edges[-1]] <= HORIZON_SECONDS < EDGES_SECONDS[edges[-1] + 8]


def test_the_longest_limit_that_is_admitted_can_be_judged() -> None:
    seconds = [EDGES_SECONDS[edge] for edge in edges_of([objective("55s")], LatencyMetric.TTFT)]
    assert any(LONGEST_LIVE_SECONDS < each <= LONGEST_LIVE_SECONDS * PASS_UP_TO for each in seconds)


@pytest.mark.parametrize("median", [0.004, 0.02, 0.2, 0.4])
def test_a_comparison_is_the_same_at_the_exported_edges_as_at_all(median: float) -> None:
    edges = edges_of([objective("500ms", "5%")], LatencyMetric.TTFT)
    scale = median / MEDIAN_SECONDS
    canary, control = latencies(2000, 1.1 * scale), latencies(2000, scale, seed=2)
    part, full = (Comparison(exported(canary, at), exported(control, at), 0.95) for at in (edges, EVERY_EDGE))
    assert part.interval(SURELY, SURELY) == full.interval(SURELY, SURELY)


@pytest.mark.parametrize("limit", [0.02, 0.3, 0.5, 2.0])
def test_a_limit_is_judged_the_same_at_the_exported_edges_as_at_all(limit: float) -> None:
    edges = edges_of([objective(f"{limit * 1000:g}ms")], LatencyMetric.TTFT)
    seconds = latencies(2000)
    part, full = (LimitTest(exported(seconds, at), 0.95, limit) for at in (edges, EVERY_EDGE))
    assert (part.over(SURELY), part.under(SURELY)) == (full.over(SURELY), full.under(SURELY))
    assert part.over(SURELY) == (limit < 0.4)


@pytest.mark.parametrize("median", [0.004, 0.03, 0.2, 1.0, 8.0])
def test_grave_harm_is_told_from_none_at_coarse_edges(median: float) -> None:
    scale = median / MEDIAN_SECONDS
    control = exported(latencies(6000, scale, seed=2), COARSE)
    likely = math.log(0.05)
    alike = Comparison(exported(latencies(300, scale), COARSE), control, 0.95)
    assert alike.faster(HARM_SHIFT, likely)
    worse = Comparison(exported(latencies(300, 1.6 * scale), COARSE), control, 0.95)
    assert not worse.faster(HARM_SHIFT, likely)
