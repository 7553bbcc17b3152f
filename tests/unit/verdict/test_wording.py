from __future__ import annotations

import math

import pytest

from chaffinch.domain.verdict import Against, EvidenceReason, Gate, GateVerdict, Outcome, describe
from unit.verdict.builders import error_increase, error_max, latency_max, regression


def verdict(
    gate: Gate,
    outcome: Outcome = Outcome.INCONCLUSIVE,
    reason: EvidenceReason = EvidenceReason.JUDGING,
    *,
    value: float | None = None,
    control: float | None = None,
    ratio: float | None = None,
    interval: tuple[float | None, float | None] = (None, None),
    counts: tuple[int, int] = (0, 0),
    next_look: int = 150,
    ruled_out: float | None = None,
) -> GateVerdict:
    return GateVerdict(gate, outcome, reason, value, control, ratio, interval, *counts, next_look, ruled_out)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            verdict(
                error_max(0.003),
                Outcome.PASS,
                EvidenceReason.SUFFICIENT,
                value=0.001,
                interval=(0, 0.0042),
                counts=(1500, 0),
                ruled_out=0.006,
            ),
            "errorRate 0.10% (0.00%..0.42%; limit 0.30%, proven below 0.60%), n 1500: pass",
        ),
        (
            verdict(
                regression(),
                Outcome.PASS,
                EvidenceReason.SUFFICIENT,
                value=0.25,
                control=0.25,
                ratio=1.0,
                interval=(0.95, 1.06),
                counts=(1000, 1000),
                ruled_out=1.077,
            ),
            (
                "ttft p95 1.00x stable (0.95..1.06; limit 1.05x, proven below 1.08x), 250ms vs 250ms, "
                "n 1000/1000: pass"
            ),
        ),
        (
            verdict(
                regression(),
                Outcome.FAIL,
                EvidenceReason.SUFFICIENT,
                value=0.312,
                control=0.241,
                ratio=1.29,
                interval=(1.19, 1.41),
                counts=(1180, 4720),
            ),
            "ttft p95 1.29x stable (1.19..1.41; limit 1.05x), 312ms vs 241ms, n 1180/4720: fail",
        ),
        (
            verdict(
                regression(1.1, against=Against.BASELINE),
                value=1.5,
                control=1.5,
                ratio=1.0,
                interval=(0.9, None),
                counts=(400, 900),
                next_look=507,
            ),
            (
                "ttft p95 1.00x the baseline (0.90..?; limit 1.08x), 1.5s vs 1.5s, "
                "n 400/900: undecided, next look at n 507"
            ),
        ),
        (
            verdict(
                latency_max(0.5, quantile=0.99),
                Outcome.PASS,
                EvidenceReason.SUFFICIENT,
                value=0.3,
                interval=(0.28, 0.33),
                counts=(700, 0),
                ruled_out=0.54,
            ),
            "ttft p99 300ms (280ms..330ms; limit 500ms, proven below 540ms), n 700: pass",
        ),
        (
            verdict(latency_max(), reason=EvidenceReason.NO_DATA),
            "ttft p95 ? (?..?; limit 600ms), n 0: undecided, needs 150 per arm",
        ),
        (
            verdict(
                latency_max(),
                reason=EvidenceReason.STABLE_OVER_LIMIT,
                value=math.inf,
                interval=(0.7, None),
                counts=(400, 0),
            ),
            "ttft p95 unbounded (700ms..?; limit 600ms), n 400: undecided, stable misses the limit too",
        ),
        (
            verdict(
                error_max(),
                Outcome.PASS,
                EvidenceReason.SUFFICIENT,
                value=0.0002,
                interval=(0.0, 0.0034),
                counts=(5000, 0),
            ),
            (
                "errorRate 0.02% (0.00%..0.34%; limit 0.50%), n 5000: pass, no harm beside stable; "
                "its limit is not proven"
            ),
        ),
        (
            verdict(
                error_increase(),
                Outcome.FAIL,
                EvidenceReason.SUFFICIENT,
                value=0.06,
                control=0.0,
                interval=(0.038, 0.08),
                counts=(1000, 5000),
            ),
            (
                "errorRate +6.00pp against stable (+3.80pp..+8.00pp; limit +0.50pp), 6.00% vs 0.00%, "
                "n 1000/5000: fail"
            ),
        ),
        (
            verdict(error_increase(), reason=EvidenceReason.UNDERPOWERED, counts=(400, 0)),
            (
                "errorRate ?pp against stable (?..?; limit +0.50pp), ? vs ?, "
                "n 400/0: undecided, too few requests came to decide"
            ),
        ),
        (
            verdict(regression(), reason=EvidenceReason.NOT_COMPARABLE),
            "ttft p95 ?x stable (?..?; limit 1.05x), ? vs ?, n 0/0: undecided, NotComparable",
        ),
    ],
)
def test_a_verdict_reads_as_one_line(said: GateVerdict, line: str) -> None:
    assert describe(said) == line
