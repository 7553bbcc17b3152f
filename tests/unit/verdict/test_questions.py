"""Gates and plans that ask nothing sensible."""

from __future__ import annotations

import pytest

from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.verdict import (
    Against,
    ErrorMetric,
    Gate,
    Kind,
)
from unit.verdict.builders import (
    error_max,
    plan,
)


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ((LatencyMetric.TTFT, None, Kind.MAX, 1.0, Against.LIMIT), "needs a quantile"),
        ((LatencyMetric.TTFT, 95.0, Kind.MAX, 1.0, Against.LIMIT), "needs a quantile"),
        ((ErrorMetric.ERROR_RATE, 0.95, Kind.MAX, 1.0, Against.LIMIT), "has no quantile"),
        ((LatencyMetric.TTFT, 0.95, Kind.MAX, 1.0, Against.CONTROL), "exactly a max"),
        ((LatencyMetric.TTFT, 0.95, Kind.REGRESSION, 1.1, Against.LIMIT), "exactly a max"),
        ((LatencyMetric.TTFT, 0.95, Kind.REGRESSION, 0.05, Against.CONTROL), "1 or more"),
        ((ErrorMetric.ERROR_RATE, None, Kind.REGRESSION, 1.1, Against.CONTROL), "a ratio of latencies"),
        ((LatencyMetric.TTFT, 0.95, Kind.INCREASE, 0.1, Against.CONTROL), "difference of error rates"),
        ((ErrorMetric.ERROR_RATE, None, Kind.MAX, float("nan"), Against.LIMIT), "finite"),
        ((ErrorMetric.ERROR_RATE, None, Kind.MAX, -0.1, Against.LIMIT), "finite"),
    ],
)
def test_gates_that_ask_nothing_sensible_are_refused(
    gate: tuple[LatencyMetric | ErrorMetric, float | None, Kind, float, Against], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Gate("name", *gate)


def test_a_plan_with_one_gate_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="two gates of a plan"):
        plan(error_max(0.1), error_max(0.2))
