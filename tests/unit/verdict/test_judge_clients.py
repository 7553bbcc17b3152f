"""Clients who leave before they are answered, and canaries that answer nobody."""

from __future__ import annotations

import pytest

from chaffinch.domain.evidence import ArmEvidence, LatencyMetric
from chaffinch.domain.grid import Histogram
from chaffinch.domain.verdict import (
    EvidenceReason,
    Gate,
    Level,
    Outcome,
)
from unit.verdict.builders import (
    arm,
    error_max,
    evidence,
    latency_max,
    leaving,
    plan,
    regression,
    verdict_on,
)


def test_a_canary_that_nobody_asked_anything_passes_nothing_not_even_a_plan_without_gates() -> None:
    silent = ArmEvidence(0, 0, {LatencyMetric.TTFT: Histogram.empty()})
    for question in (plan(), plan(error_max()), plan(latency_max(), require=Level.NO_HARM)):
        judgement = verdict_on(question, evidence(silent, silent))
        assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.NO_DATA)


@pytest.mark.parametrize("level", list(Level))
def test_a_canary_that_answers_nobody_is_not_passed_by_clients_who_give_up_early(level: Level) -> None:
    hung = leaving(ArmEvidence(0, 0, {LatencyMetric.TTFT: Histogram.empty()}), 5000, after=1.0)
    for control in (None, arm(5000)):
        judgement = verdict_on(plan(latency_max(2.0), require=level), evidence(hung, control))
        assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.NO_DATA)


@pytest.mark.parametrize("gate", [latency_max(0.8), regression()])
def test_clients_who_waited_longer_than_is_allowed_accuse_a_canary_that_answers_nobody(gate: Gate) -> None:
    hung = leaving(ArmEvidence(0, 0, {LatencyMetric.TTFT: Histogram.empty()}), 200, after=1.0)
    assert verdict_on(plan(gate), evidence(hung, arm(5000))).outcome is Outcome.FAIL


def test_a_pass_needs_the_floor_in_answered_requests_and_a_fail_does_not() -> None:
    few = leaving(arm(149), 5000, after=0.01)
    judgement = verdict_on(plan(latency_max(2.0)), evidence(few))
    assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.BELOW_FLOOR)
    enough = leaving(arm(150), 5000, after=0.01)
    assert verdict_on(plan(latency_max(2.0)), evidence(enough)).outcome is Outcome.PASS
    impatient = leaving(arm(149), 5000, after=3.0)
    assert verdict_on(plan(latency_max(2.0)), evidence(impatient)).outcome is Outcome.FAIL


def test_clients_who_leave_at_once_hide_nothing_and_prove_nothing() -> None:
    gates = (latency_max(0.6), regression())
    good = evidence(leaving(arm(6000), 1500, after=0.02), leaving(arm(6000, seed=2), 1500, after=0.02))
    assert verdict_on(plan(*gates), good).outcome is Outcome.PASS
    slow = evidence(
        leaving(arm(3000, factor=1.3), 1500, after=0.02), leaving(arm(3000, seed=2), 0, after=0.02)
    )
    assert verdict_on(plan(regression()), slow).outcome is Outcome.FAIL
