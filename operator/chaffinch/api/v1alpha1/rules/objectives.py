"""Rules of one objective: each limit must make sense for its metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chaffinch.api.v1alpha1 import quantities
from chaffinch.api.v1alpha1.rollout import Metric, Objective
from chaffinch.api.v1alpha1.rules.rule import Rule, number

SHORTEST_LATENCY_SECONDS = 0.001
LONGEST_LATENCY_SECONDS = 500.0
SMALLEST_REGRESSION = 0.025
"""One step of the latency grid: a smaller margin could not be told from none."""

MILLIS = r"^[0-9]{1,6}(\.[0-9]{1,3})?ms$"
SECONDS = r"^[0-9]{1,6}(\.[0-9]{1,3})?s$"

_IS_ERROR_RATE = "self.metric == 'errorRate'"


def _is_latency(text: str) -> bool:
    return text.endswith("s")


def _in_range(parse: Callable[[str], float], text: str | None, low: float, high: float) -> bool:
    return text is None or low <= parse(text) <= high


def _max_in_range(objective: Objective) -> bool:
    if objective.max is None:
        return True
    if _is_latency(objective.max):
        return _in_range(
            quantities.latency_seconds, objective.max, SHORTEST_LATENCY_SECONDS, LONGEST_LATENCY_SECONDS
        )
    return 0 < quantities.share(objective.max) < 1


_LATENCY_MILLIS = number("self.max", MILLIS, "ms", "(x >= 1.0 && x <= 500000.0)")
_LATENCY_SECONDS = number("self.max", SECONDS, "s", "(x >= 0.001 && x <= 500.0)")
_MAX_PERCENT = number("self.max", r"^[0-9]{1,6}(\.[0-9]{1,3})?%$", "%", "(x > 0.0 && x < 100.0)")

RULES: tuple[Rule[Any], ...] = (
    Rule(
        model=Objective,
        message="a latency objective needs a quantile: add one of p50, p90, p95, p99",
        cel=f"{_IS_ERROR_RATE} || has(self.quantile)",
        holds=lambda objective: objective.metric is Metric.ERROR_RATE or objective.quantile is not None,
    ),
    Rule(
        model=Objective,
        field=".quantile",
        message="errorRate has no quantile: remove it",
        cel=f"!({_IS_ERROR_RATE}) || !has(self.quantile)",
        holds=lambda objective: objective.metric is not Metric.ERROR_RATE or objective.quantile is None,
    ),
    Rule(
        model=Objective,
        message="an objective needs a limit: add max, or maxRegression (latencies), "
        "or maxIncrease (errorRate)",
        cel="has(self.max) || has(self.maxRegression) || has(self.maxIncrease)",
        holds=lambda objective: any((objective.max, objective.max_regression, objective.max_increase)),
    ),
    Rule(
        model=Objective,
        field=".max",
        message="the max of a latency is a latency: write ms or s, such as 85ms",
        cel=f"{_IS_ERROR_RATE} || !has(self.max) || self.max.endsWith('s')",
        holds=lambda objective: (
            objective.metric is Metric.ERROR_RATE or objective.max is None or _is_latency(objective.max)
        ),
    ),
    Rule(
        model=Objective,
        field=".max",
        message="the max of errorRate is a share of all requests: write percent, such as 0.1%",
        cel=f"!({_IS_ERROR_RATE}) || !has(self.max) || self.max.endsWith('%')",
        holds=lambda objective: (
            objective.metric is not Metric.ERROR_RATE
            or objective.max is None
            or not _is_latency(objective.max)
        ),
    ),
    Rule(
        model=Objective,
        field=".max",
        message="max is out of range: a latency lies between 1ms and 500s, a share between 0% and 100%, "
        "both excluded",
        cel=f"{_LATENCY_MILLIS} && {_LATENCY_SECONDS} && {_MAX_PERCENT}",
        holds=_max_in_range,
    ),
    Rule(
        model=Objective,
        field=".maxRegression",
        message="errorRate has no maxRegression: use maxIncrease in percentage points, such as 0.5pp",
        cel=f"!({_IS_ERROR_RATE}) || !has(self.maxRegression)",
        holds=lambda objective: objective.metric is not Metric.ERROR_RATE or objective.max_regression is None,
    ),
    Rule(
        model=Objective,
        field=".maxRegression",
        message="maxRegression must lie between 2.5% (one step of the latency grid) and 100%",
        cel=number("self.maxRegression", quantities.PERCENT_PATTERN, "%", "(x >= 2.5 && x <= 100.0)"),
        holds=lambda objective: _in_range(
            quantities.share, objective.max_regression, SMALLEST_REGRESSION, 1.0
        ),
    ),
    Rule(
        model=Objective,
        field=".maxIncrease",
        message="a latency has no maxIncrease: use maxRegression in percent, such as 5%",
        cel=f"{_IS_ERROR_RATE} || !has(self.maxIncrease)",
        holds=lambda objective: objective.metric is Metric.ERROR_RATE or objective.max_increase is None,
    ),
    Rule(
        model=Objective,
        field=".maxIncrease",
        message="maxIncrease must lie between 0.001pp and 100pp",
        cel=number("self.maxIncrease", quantities.PERCENTAGE_POINTS_PATTERN, "pp", "(x > 0.0 && x <= 100.0)"),
        holds=lambda objective: (
            objective.max_increase is None or 0 < quantities.share(objective.max_increase) <= 1
        ),
    ),
)
