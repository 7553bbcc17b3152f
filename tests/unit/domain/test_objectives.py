from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.status import ArmSamples, ObjectiveStatus, ObjectiveVerdict
from chaffinch.domain.objectives import StepClock, objectives_status
from chaffinch.domain.verdict import EvidenceReason, GateVerdict, Outcome
from unit.verdict.builders import error_increase, latency_max, regression

NOON = datetime(2026, 3, 1, 12, 0, 0, 600_000, tzinfo=UTC)
TEN_MINUTES = StepClock(NOON, NOON + timedelta(minutes=10))
UNDECIDED = GateVerdict(
    gate=regression(),
    outcome=Outcome.INCONCLUSIVE,
    reason=EvidenceReason.JUDGING,
    value=0.25,
    control=0.24,
    ratio=1.0417,
    interval=(0.97, 1.1),
    candidate=400,
    control_requests=1600,
    next_look=507,
)


def test_an_objective_is_told_in_text_with_units_and_with_its_next_look() -> None:
    assert objectives_status([UNDECIDED], "canary-20", TEN_MINUTES) == (
        ObjectiveStatus(
            name="ttft-p95",
            verdict=ObjectiveVerdict.INCONCLUSIVE,
            reason="Judging",
            value="250.0ms",
            control="240.0ms",
            ratio="1.042",
            interval="0.970..1.100",
            limit="1.050",
            samples=ArmSamples(candidate=400, stable=1600),
            eta=datetime(2026, 3, 1, 12, 12, 41, tzinfo=UTC),
            step="canary-20",
            message=(
                "ttft p95 1.04x stable (0.97..1.10; limit 1.05x), 250ms vs 240ms, n 400/1600: undecided, "
                "next look at n 507."
            ),
        ),
    )


@pytest.mark.parametrize(
    ("verdict", "clock"),
    [
        (UNDECIDED, StepClock(None, NOON)),
        (UNDECIDED, StepClock(NOON, NOON)),
        (replace(UNDECIDED, outcome=Outcome.PASS, reason=EvidenceReason.SUFFICIENT), TEN_MINUTES),
        (replace(UNDECIDED, outcome=Outcome.FAIL, reason=EvidenceReason.SUFFICIENT), TEN_MINUTES),
        (replace(UNDECIDED, reason=EvidenceReason.BELOW_FLOOR), TEN_MINUTES),
        (replace(UNDECIDED, reason=EvidenceReason.NO_DATA, candidate=0), TEN_MINUTES),
        (replace(UNDECIDED, reason=EvidenceReason.STALE_DATA, candidate=0), TEN_MINUTES),
        (replace(UNDECIDED, reason=EvidenceReason.UNDERPOWERED), TEN_MINUTES),
        (replace(UNDECIDED, reason=EvidenceReason.STABLE_OVER_LIMIT), TEN_MINUTES),
    ],
    ids=["no clock", "no time", "pass", "fail", "few requests", "none", "old", "no more come", "stable too"],
)
def test_nothing_is_foreseen_where_not_only_the_canarys_requests_are_waited_for(
    verdict: GateVerdict, clock: StepClock
) -> None:
    (told,) = objectives_status([verdict], "canary-20", clock)
    assert told.eta is None


def test_an_objective_speaks_of_its_gate_that_is_worst_off() -> None:
    passes = replace(
        UNDECIDED, gate=latency_max(0.5), outcome=Outcome.PASS, reason=EvidenceReason.SUFFICIENT, control=None
    )
    errors = replace(UNDECIDED, gate=error_increase(), value=0.001, control=0.001, ratio=None)
    told = objectives_status([passes, UNDECIDED, errors], "canary-20", TEN_MINUTES)
    assert [(each.name, each.verdict, each.limit) for each in told] == [
        ("ttft-p95", ObjectiveVerdict.INCONCLUSIVE, "1.050"),
        ("errors", ObjectiveVerdict.INCONCLUSIVE, "0.50pp"),
    ]
