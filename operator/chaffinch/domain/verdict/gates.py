"""Objectives as a user wrote them, turned into the gates that one kind of step can judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from chaffinch.api.v1alpha1.quantities import latency_seconds, share
from chaffinch.api.v1alpha1.rollout import Metric, Objective
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.verdict.types import Against, ErrorMetric, Gate, GateMetric, Kind

DEFAULT_MAX_INCREASE = 0.005
"""How much the error rate may rise over the control's where an objective does not say: 0.5 points."""


class Setting(StrEnum):
    """Where evidence comes from, which decides what it can be compared with.

    ``CANARY``: live traffic beside stable. ``BAKE``: live traffic without stable. ``PROBE``: a fixed
    load, beside the frozen baseline if one is named.
    """

    CANARY = "Canary"
    BAKE = "Bake"
    PROBE = "Probe"


def gates_of(
    objectives: Iterable[Objective], setting: Setting, *, has_baseline: bool = False
) -> tuple[Gate, ...]:
    """Return the gates that a step can judge, in the order of the objectives.

    A limit is a gate everywhere. A comparison is a gate where there is something to compare with:
    stable in a canary step, the baseline in a probe, nothing in a bake. The time per output token is
    measured by the probe only.

    Args:
        objectives: The rollout's objectives.
        setting: The kind of step.
        has_baseline: Whether a baseline is named; matters to a probe only.
    """
    against = _against(setting, has_baseline=has_baseline)
    return tuple(gate for objective in objectives for gate in _gates(objective, setting, against))


def _against(setting: Setting, *, has_baseline: bool) -> Against | None:
    if setting is Setting.CANARY:
        return Against.CONTROL
    return Against.BASELINE if setting is Setting.PROBE and has_baseline else None


def _gates(objective: Objective, setting: Setting, against: Against | None) -> Iterator[Gate]:
    if objective.metric is Metric.TPOT and setting is not Setting.PROBE:
        return
    if objective.metric is Metric.ERROR_RATE:
        yield from _error_gates(objective, against)
    else:
        yield from _latency_gates(objective, LatencyMetric(objective.metric.value), against)


def _latency_gates(objective: Objective, metric: LatencyMetric, against: Against | None) -> Iterator[Gate]:
    quantile = objective.quantile.share if objective.quantile else None
    if objective.max is not None:
        yield Gate(objective.name, metric, quantile, Kind.MAX, latency_seconds(objective.max), Against.LIMIT)
    if objective.max_regression is not None and against is not None:
        ratio = 1 + share(objective.max_regression)
        yield Gate(objective.name, metric, quantile, Kind.REGRESSION, ratio, against)


def _error_gates(objective: Objective, against: Against | None) -> Iterator[Gate]:
    metric: GateMetric = ErrorMetric.ERROR_RATE
    if objective.max is not None:
        yield Gate(objective.name, metric, None, Kind.MAX, share(objective.max), Against.LIMIT)
    if against is not None:
        increase = DEFAULT_MAX_INCREASE if objective.max_increase is None else share(objective.max_increase)
        yield Gate(objective.name, metric, None, Kind.INCREASE, increase, against)
