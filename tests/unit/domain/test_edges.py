from __future__ import annotations

from chaffinch.api.v1alpha1.rollout import Objective
from chaffinch.api.v1alpha1.rules.measurability import LONGEST_LIVE_SECONDS
from chaffinch.domain.block_vector import HORIZON_SECONDS
from chaffinch.domain.edges import edges_of
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.grid import EDGES_SECONDS, bucket_of
from chaffinch.domain.verdict.latency import PASS_UP_TO


def objective(limit: str) -> Objective:
    return Objective.model_validate({"name": "ttft", "metric": "ttft", "quantile": "p95", "max": limit})


def test_edges_are_fine_around_the_limits() -> None:
    edges = edges_of([objective("85ms"), objective("2s")], LatencyMetric.TTFT)
    fine = range(bucket_of(0.085 / 16), bucket_of(2 * 4) + 1)
    assert set(fine) <= set(edges)
    assert list(edges) == sorted(set(edges))


def test_no_edge_lies_beyond_the_horizon() -> None:
    for metric in (LatencyMetric.TTFT, LatencyMetric.E2E):
        edges = edges_of([objective("400s")], metric)
        assert EDGES_SECONDS[edges[-1]] <= HORIZON_SECONDS < EDGES_SECONDS[edges[-1] + 5]


def test_the_longest_limit_that_is_admitted_can_be_judged() -> None:
    seconds = [EDGES_SECONDS[edge] for edge in edges_of([objective("55s")], LatencyMetric.TTFT)]
    assert any(LONGEST_LIVE_SECONDS < each <= LONGEST_LIVE_SECONDS * PASS_UP_TO for each in seconds)


def test_one_limit_costs_a_third_of_all_edges() -> None:
    assert len(edges_of([objective("500ms")], LatencyMetric.TTFT)) < len(EDGES_SECONDS) / 2


def test_without_a_limit_every_edge_may_matter() -> None:
    assert edges_of([objective("85ms")], LatencyMetric.E2E) == tuple(range(bucket_of(60.0)))
