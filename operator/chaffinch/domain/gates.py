"""Turns objectives into the gates of a step: what can be judged where, and against what.

==================  ===========================  ======================  ==================
limit               probe (fixed load)           canary (live traffic)   bake (all traffic)
==================  ===========================  ======================  ==================
``max``             limit                        limit                   limit
``maxRegression``   baseline, if one is named    stable, concurrently    nothing to compare
``maxIncrease``     baseline, if one is named    stable, concurrently    nothing to compare
==================  ===========================  ======================  ==================

``tpot`` is measured by the probe only: a router sees chunks, not tokens.

A probe sends some hundreds of requests, which is plenty for a latency and far too little to prove an
error rate of 0.5 %: there error rates are a veto, and what the objective asks is proven on live traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chaffinch.api.v1alpha1.quantities import latency_seconds, share
from chaffinch.api.v1alpha1.rollout import Metric, Objective
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.verdict import Against, ErrorMetric, Gate, GateMetric, Kind


def probe_gates(objectives: Sequence[Objective], *, with_baseline: bool) -> tuple[Gate, ...]:
    """Return the gates of a probe step."""
    against = Against.BASELINE if with_baseline else None
    return tuple(_within_reach(gate) for each in objectives for gate in _gates(each, against))


def canary_gates(objectives: Sequence[Objective]) -> tuple[Gate, ...]:
    """Return the gates of a canary step."""
    return tuple(gate for each in _seen_by_router(objectives) for gate in _gates(each, Against.CONTROL))


def bake_gates(objectives: Sequence[Objective]) -> tuple[Gate, ...]:
    """Return the gates of a bake: absolute limits only, for stable has no traffic to compare with."""
    return tuple(gate for each in _seen_by_router(objectives) for gate in _gates(each, None))


def _within_reach(gate: Gate) -> Gate:
    return replace(gate, veto=True) if gate.metric is ErrorMetric.ERROR_RATE else gate


def _seen_by_router(objectives: Sequence[Objective]) -> list[Objective]:
    return [each for each in objectives if each.metric is not Metric.TPOT]


def _gates(objective: Objective, against: Against | None) -> Iterator[Gate]:
    """Yield an objective's gates; relative limits only if there is something to compare with."""
    if objective.max is not None:
        yield _gate(objective, Kind.MAX, _limit(objective, objective.max), Against.LIMIT)
    if against is None:
        return
    if objective.max_regression is not None:
        yield _gate(objective, Kind.REGRESSION, 1 + share(objective.max_regression), against)
    if objective.max_increase is not None:
        yield _gate(objective, Kind.INCREASE, share(objective.max_increase), against)


def _gate(objective: Objective, kind: Kind, limit: float, against: Against) -> Gate:
    quantile = objective.quantile.share if objective.quantile is not None else None
    return Gate(objective.name, _metric(objective), quantile, kind, limit, against)


def _metric(objective: Objective) -> GateMetric:
    if objective.metric is Metric.ERROR_RATE:
        return ErrorMetric.ERROR_RATE
    return LatencyMetric(objective.metric.value)


def _limit(objective: Objective, text: str) -> float:
    return share(text) if objective.metric is Metric.ERROR_RATE else latency_seconds(text)
