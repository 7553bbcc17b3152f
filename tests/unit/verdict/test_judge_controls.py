"""Verdicts on what stable and the baseline do with the same limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaffinch.domain.evidence import ArmEvidence, NoEvidence, Problem
from chaffinch.domain.grid import GROWTH
from chaffinch.domain.verdict import (
    Against,
    EvidenceReason,
    Gate,
    Level,
    Outcome,
)
from unit.verdict.builders import (
    arm,
    error_increase,
    error_max,
    evidence,
    latency_max,
    plan,
    regression,
    verdict_on,
)

_NO_HARM = "no objective shows harm beside stable; that each `max` is kept is not proven at this step"


def test_a_limit_that_stable_misses_too_is_not_held_against_the_canary() -> None:
    seen = evidence(arm(1000), arm(1000, seed=2))
    judgement = verdict_on(plan(latency_max(0.3)), seen)
    assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.STABLE_OVER_LIMIT)
    errors = evidence(arm(1000, errors=40), arm(1000, errors=40))
    judgement = verdict_on(plan(error_max()), errors)
    assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.STABLE_OVER_LIMIT)


def test_stable_over_its_limit_excuses_no_canary_that_is_worse() -> None:
    slower = evidence(arm(1000, factor=1.6), arm(1000, seed=2))
    assert verdict_on(plan(latency_max(0.3)), slower).outcome is Outcome.FAIL
    failing = evidence(arm(1000, errors=150), arm(1000, errors=40))
    assert verdict_on(plan(error_max()), failing).outcome is Outcome.FAIL


def test_a_canary_that_mends_what_stable_misses_passes() -> None:
    mended = evidence(arm(3000, factor=0.5), arm(3000, seed=2))
    assert verdict_on(plan(latency_max(0.35), regression()), mended).outcome is Outcome.PASS


def test_no_harm_does_not_pass_over_a_limit_that_both_arms_miss() -> None:
    seen = evidence(arm(1000), arm(1000, seed=2))
    judgement = verdict_on(plan(latency_max(0.3), require=Level.NO_HARM), seen)
    assert judgement.reason is EvidenceReason.STABLE_OVER_LIMIT


def test_a_probe_is_compared_with_the_baseline_and_not_with_a_control() -> None:
    gate = regression(against=Against.BASELINE)
    question = plan(gate, ends=0, final=True)
    slow, like_baseline = evidence(arm(3000, factor=1.4)), evidence(arm(6000, seed=3))
    assert verdict_on(question, slow, baseline=arm(9000, seed=2)).outcome is Outcome.FAIL
    assert verdict_on(question, like_baseline, baseline=arm(9000, seed=2)).outcome is Outcome.PASS


def test_a_veto_passes_what_is_not_proven_bad_on_enough_requests_and_nothing_without_evidence() -> None:
    gate = replace(error_increase(against=Against.BASELINE), veto=True)
    question = plan(gate, final=True)
    few, too_few = arm(200, errors=3), arm(100)
    assert verdict_on(question, evidence(few), baseline=arm(200)).outcome is Outcome.PASS
    assert verdict_on(question, evidence(too_few), baseline=arm(200)).outcome is Outcome.INCONCLUSIVE
    assert verdict_on(question, evidence(arm(200, errors=60)), baseline=arm(200)).outcome is Outcome.FAIL
    missing = NoEvidence(Problem.NO_DATA, "no baseline")
    assert verdict_on(question, evidence(few), baseline=missing).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("canary", "unproven"),
    [(arm(200, errors=3), True), (arm(200), True), (arm(3000), False), (arm(3000, errors=12), True)],
    ids=["above the limit", "too few", "proven", "above the limit, though not proven"],
)
def test_a_veto_that_passes_says_whether_it_proves_the_limit(canary: ArmEvidence, unproven: bool) -> None:
    question = plan(replace(error_max(0.003), veto=True), final=True)
    judgement = verdict_on(question, evidence(canary))
    (found,) = judgement.verdicts
    assert (judgement.outcome, found.outcome, found.unproven) == (Outcome.PASS, Outcome.PASS, unproven)
    assert not found.leaves_limit_open
    assert ("no other is proven missed" in judgement.detail) is unproven


def test_a_baseline_that_cannot_be_compared_with_leaves_its_gates_open_and_says_why() -> None:
    question = plan(error_max(), regression(against=Against.BASELINE), ends=0, final=True)
    mismatch = NoEvidence(Problem.NOT_COMPARABLE, "the baseline is of another model")
    judgement = verdict_on(question, evidence(arm(6000)), baseline=mismatch)
    assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.NOT_COMPARABLE)
    assert [verdict.outcome for verdict in judgement.verdicts] == [Outcome.PASS, Outcome.INCONCLUSIVE]
    missing = verdict_on(question, evidence(arm(6000)), baseline=None)
    assert (missing.outcome, missing.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.NO_DATA)


@pytest.mark.parametrize(
    ("gate", "proven", "no_harm"),
    [
        (error_max(0.003), 0.006, None),
        (error_increase(0.005), 0.005, 0.03),
        (latency_max(0.5), 0.54, None),
        (regression(1.05), GROWTH**3, GROWTH**16),
    ],
    ids=["error rate", "its increase", "latency", "its regression"],
)
def test_a_pass_says_which_bound_it_rules_out_and_its_interval_ends_below(
    gate: Gate, proven: float, no_harm: float | None
) -> None:
    seen = evidence(arm(9000), arm(9000, seed=2))
    for level, want in ((Level.PROVEN, proven), (Level.NO_HARM, no_harm)):
        judgement = verdict_on(plan(gate, require=level), seen)
        (found,) = judgement.verdicts
        assert found.outcome is Outcome.PASS
        assert judgement.detail == ("every objective passes" if want is not None else _NO_HARM)
        assert found.ruled_out == (None if want is None else pytest.approx(want))
        high = found.interval[1]
        assert want is None or (high is not None and high <= want)
        assert found.leaves_limit_open is (want is None)


def test_what_has_not_passed_rules_nothing_out() -> None:
    for errors, outcome in ((1, Outcome.INCONCLUSIVE), (9, Outcome.FAIL)):
        (found,) = verdict_on(plan(error_max(0.003)), evidence(arm(200, errors=errors))).verdicts
        assert (found.outcome, found.ruled_out, found.leaves_limit_open) == (outcome, None, False)


def test_a_limit_that_passed_by_proof_stays_proven_when_stable_gets_its_first_requests() -> None:
    question = plan(error_max(0.003), require=Level.NO_HARM)
    alone = verdict_on(question, evidence(arm(9000), arm(0)))
    beside = verdict_on(question, evidence(arm(9000), arm(9000, seed=2)), now=11, state=alone.state)
    for judgement in (alone, beside):
        (found,) = judgement.verdicts
        assert (found.outcome, found.ruled_out, found.leaves_limit_open) == (Outcome.PASS, 0.006, False)
        assert judgement.detail == "every objective passes"
