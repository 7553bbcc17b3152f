from __future__ import annotations

from chaffinch.api.v1alpha1.rollout import Objective
from chaffinch.domain.edges import edges_of
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.grid import EDGES_SECONDS, bucket_of


def objective(limit: str) -> Objective:
    return Objective.model_validate({"name": "ttft", "metric": "ttft", "quantile": "p95", "max": limit})


def test_edges_are_fine_around_the_limits() -> None:
    edges = edges_of([objective("85ms"), objective("2s")], LatencyMetric.TTFT)
    fine = range(bucket_of(0.085 / 16), bucket_of(2 * 4) + 1)
    assert set(fine) <= set(edges)
    assert list(edges) == sorted(set(edges))
    assert EDGES_SECONDS[edges[-1]] > 100


def test_one_limit_costs_a_third_of_all_edges() -> None:
    assert len(edges_of([objective("500ms")], LatencyMetric.TTFT)) < len(EDGES_SECONDS) / 2


def test_without_a_limit_every_edge_may_matter() -> None:
    assert edges_of([objective("85ms")], LatencyMetric.E2E) == tuple(range(bucket_of(120.0) + 1))
