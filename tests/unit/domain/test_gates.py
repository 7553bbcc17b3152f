from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.rollout import Objective
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.gates import bake_gates, canary_gates, probe_gates
from chaffinch.domain.verdict import Against, ErrorMetric, Gate, Kind

OBJECTIVES = tuple(
    Objective.model_validate(each)
    for each in (
        {"name": "ttft", "metric": "ttft", "quantile": "p95", "max": "85ms", "maxRegression": "5%"},
        {"name": "tpot", "metric": "tpot", "quantile": "p50", "maxRegression": "8%"},
        {"name": "errors", "metric": "errorRate", "max": "0.1%", "maxIncrease": "0.5pp"},
    )
)
TTFT_MAX = Gate("ttft", LatencyMetric.TTFT, 0.95, Kind.MAX, 0.085, Against.LIMIT)
ERRORS_MAX = Gate("errors", ErrorMetric.ERROR_RATE, None, Kind.MAX, 0.001, Against.LIMIT)
# A probe is too short to prove an error rate: it can only find it missed.
PROBED_ERRORS_MAX = replace(ERRORS_MAX, veto=True)


def test_live_traffic_is_compared_with_stable_and_sees_no_tokens() -> None:
    assert canary_gates(OBJECTIVES) == (
        TTFT_MAX,
        Gate("ttft", LatencyMetric.TTFT, 0.95, Kind.REGRESSION, 1.05, Against.CONTROL),
        ERRORS_MAX,
        Gate("errors", ErrorMetric.ERROR_RATE, None, Kind.INCREASE, 0.005, Against.CONTROL),
    )


def test_a_probe_is_compared_with_the_baseline() -> None:
    assert probe_gates(OBJECTIVES, with_baseline=True) == (
        TTFT_MAX,
        Gate("ttft", LatencyMetric.TTFT, 0.95, Kind.REGRESSION, 1.05, Against.BASELINE),
        Gate("tpot", LatencyMetric.TPOT, 0.5, Kind.REGRESSION, 1.08, Against.BASELINE),
        PROBED_ERRORS_MAX,
        Gate("errors", ErrorMetric.ERROR_RATE, None, Kind.INCREASE, 0.005, Against.BASELINE, veto=True),
    )


def test_without_a_baseline_a_probe_is_held_to_absolute_limits_only() -> None:
    assert probe_gates(OBJECTIVES, with_baseline=False) == (TTFT_MAX, PROBED_ERRORS_MAX)


def test_a_bake_has_nothing_to_compare_with() -> None:
    assert bake_gates(OBJECTIVES) == (TTFT_MAX, ERRORS_MAX)
