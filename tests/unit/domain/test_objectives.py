from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.step_status import ArmSamples, ObjectiveStatus, ObjectiveVerdict
from chaffinch.domain.objectives import StepClock, objectives_status
from chaffinch.domain.verdict import Against, EvidenceReason, GateVerdict, Outcome
from unit.verdict.builders import error_increase, error_max, latency_max, regression

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


def test_what_a_probe_can_only_veto_is_no_pass_to_read() -> None:
    kept = replace(
        UNDECIDED, gate=error_increase(against=Against.BASELINE), outcome=Outcome.PASS,
        reason=EvidenceReason.SUFFICIENT, value=0.015, control=0.01, ratio=None, interval=(-0.03, 0.04),
        candidate=200, control_requests=200,
    )  # fmt: skip
    spared = replace(
        kept, gate=replace(error_max(0.003), veto=True), control=None, interval=(0.001, 0.052), unproven=True
    )
    assert objectives_status([kept, spared], "probe", TEN_MINUTES) == (
        ObjectiveStatus(
            name="errors",
            verdict=ObjectiveVerdict.INCONCLUSIVE,
            reason="Underpowered",
            value="1.50%",
            control="1.00%",
            interval="0.10%..5.20%",
            limit="0.30%",
            samples=ArmSamples(candidate=200),
            step="probe",
            message=(
                "errorRate 1.50% (0.10%..5.20%; limit 0.30%), n 200: not proven kept; a probe "
                "fails it only if its lower bound is beyond the limit."
            ),
        ),
    )


def test_a_limit_that_a_probe_keeps_is_shown_beside_the_baseline() -> None:
    limit = replace(
        UNDECIDED, gate=latency_max(0.5), outcome=Outcome.PASS, reason=EvidenceReason.SUFFICIENT,
        control=None, ratio=None, ruled_out=0.54,
    )  # fmt: skip
    compared = replace(limit, gate=regression(against=Against.BASELINE), control=0.24, ratio=1.0417)
    (told,) = objectives_status([limit, compared], "probe", TEN_MINUTES)
    assert (told.limit, told.ruled_out, told.value) == ("500.0ms", "540.0ms", "250.0ms")
    assert (told.control, told.ratio) == ("240.0ms", "1.042")
