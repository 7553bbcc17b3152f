"""Evidence and plans for tests, with every value that a test does not speak about already chosen."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from chaffinch.domain.evidence import ArmEvidence, Evidence, LatencyMetric, NoEvidence
from chaffinch.domain.grid import Histogram
from chaffinch.domain.verdict import (
    Against,
    ErrorMetric,
    Gate,
    Judgement,
    JudgeState,
    Kind,
    Level,
    Plan,
    judge,
)

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SIGMA = 0.5
MEDIAN_SECONDS = 0.2


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def latency_max(limit: float = 0.6, quantile: float = 0.95) -> Gate:
    return Gate("ttft-p95", LatencyMetric.TTFT, quantile, Kind.MAX, limit, Against.LIMIT)


def regression(ratio: float = 1.05, quantile: float = 0.95, against: Against = Against.CONTROL) -> Gate:
    return Gate("ttft-p95", LatencyMetric.TTFT, quantile, Kind.REGRESSION, ratio, against)


def error_max(limit: float = 0.005) -> Gate:
    return Gate("errors", ErrorMetric.ERROR_RATE, None, Kind.MAX, limit, Against.LIMIT)


def error_increase(margin: float = 0.005, against: Against = Against.CONTROL) -> Gate:
    return Gate("errors", ErrorMetric.ERROR_RATE, None, Kind.INCREASE, margin, against)


def plan(
    *gates: Gate, require: Level = Level.PROVEN, ends: float = 5, deadline: float = 60, final: bool = False
) -> Plan:
    """A plan whose step started at START; times in minutes."""
    return Plan(gates, require, at(ends), at(deadline), final=final)


def latencies(count: int, factor: float = 1.0, seed: int = 1) -> list[float]:
    """Lognormal latencies, in seconds."""
    source = random.Random(seed)
    return [factor * MEDIAN_SECONDS * math.exp(SIGMA * source.gauss(0, 1)) for _ in range(count)]


def arm(
    requests: int, *, errors: int = 0, factor: float = 1.0, seed: int = 1, seconds: list[float] | None = None
) -> ArmEvidence:
    """An arm whose failed requests never finished."""
    finished = latencies(requests - errors, factor, seed) if seconds is None else seconds
    histogram = Histogram.of([*finished, *[math.inf] * errors])
    return ArmEvidence(requests, errors, {LatencyMetric.TTFT: histogram})


def leaving(there: ArmEvidence, count: int, after: float) -> ArmEvidence:
    """The same arm with ``count`` more clients, who left after so many seconds without an answer."""
    return replace(there, left={LatencyMetric.TTFT: Histogram.of([after] * count)})


def evidence(
    candidate: ArmEvidence, control: ArmEvidence | None = None, *, until: datetime | None = None
) -> Evidence:
    return Evidence(candidate, control, until or at(10))


def verdict_on(
    question: Plan,
    seen: Evidence | NoEvidence,
    *,
    now: float = 10,
    state: JudgeState | None = None,
    baseline: ArmEvidence | NoEvidence | None = None,
) -> Judgement:
    return judge(question, seen, baseline, state or JudgeState(), at(now))
