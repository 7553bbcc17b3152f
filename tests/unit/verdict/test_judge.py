from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.evidence import ArmEvidence, LatencyMetric, NoEvidence, Problem
from chaffinch.domain.grid import Histogram
from chaffinch.domain.verdict import (
    Against,
    EvidenceReason,
    Gate,
    GateMemory,
    JudgeState,
    Kind,
    Level,
    Outcome,
    Plan,
    checks,
    judge,
)
from chaffinch.domain.verdict.checks import failing_of
from unit.verdict.builders import (
    arm,
    at,
    error_increase,
    error_max,
    evidence,
    latencies,
    latency_max,
    plan,
    regression,
    verdict_on,
)


def test_a_canary_like_stable_is_proven_on_enough_requests() -> None:
    gates = (latency_max(), regression(), error_max(), error_increase())
    judgement = verdict_on(plan(*gates), evidence(arm(6000), arm(6000, seed=2)))
    assert judgement.outcome is Outcome.PASS
    assert judgement.reason is EvidenceReason.SUFFICIENT
    assert [verdict.outcome for verdict in judgement.verdicts] == [Outcome.PASS] * 4
    assert failing_of(judgement.verdicts) is None
    assert not judgement.overdue


def test_a_canary_twice_as_slow_fails_at_the_first_look_before_the_minimum_time() -> None:
    slow = evidence(arm(150, factor=2), arm(150, seed=2), until=at(1))
    judgement = verdict_on(plan(latency_max(1.5), regression()), slow, now=1)
    assert judgement.outcome is Outcome.FAIL
    failing = failing_of(judgement.verdicts)
    assert failing is not None
    assert failing.gate == regression()
    assert failing.ratio == pytest.approx(2, rel=0.2)
    low, _ = failing.interval
    assert low is not None
    assert low > 1.05
    assert judgement.detail.startswith("ttft p95 ")
    assert judgement.detail.endswith(": fail")


def test_a_canary_that_breaks_its_limit_fails_without_a_control() -> None:
    judgement = verdict_on(plan(latency_max(0.3)), evidence(arm(300)))
    assert judgement.outcome is Outcome.FAIL


def test_below_the_floor_nothing_fails_and_nothing_passes() -> None:
    gates = (latency_max(0.1), regression(), error_max(), error_increase())
    terrible = evidence(arm(149, errors=149), arm(5000))
    judgement = verdict_on(plan(*gates), terrible)
    assert judgement.outcome is Outcome.INCONCLUSIVE
    assert judgement.reason is EvidenceReason.BELOW_FLOOR
    assert judgement.state.of(latency_max().key) == GateMemory()


def test_a_comparison_needs_the_floor_in_both_arms() -> None:
    judgement = verdict_on(plan(regression()), evidence(arm(5000, factor=3), arm(149)))
    assert judgement.reason is EvidenceReason.BELOW_FLOOR
    assert judgement.outcome is Outcome.INCONCLUSIVE


def test_the_floor_of_a_p99_is_662() -> None:
    gate = latency_max(5.0, quantile=0.99)
    assert verdict_on(plan(gate), evidence(arm(661))).reason is EvidenceReason.BELOW_FLOOR
    assert verdict_on(plan(gate), evidence(arm(662))).outcome is Outcome.PASS


def test_no_harm_passes_a_good_canary_of_5_percent_that_proven_leaves_open() -> None:
    gates = (latency_max(), regression(), error_max(), error_increase())
    seen = evidence(arm(300), arm(5700, seed=2))
    assert verdict_on(plan(*gates, require=Level.NO_HARM), seen).outcome is Outcome.PASS
    proven = verdict_on(plan(*gates), seen)
    assert (proven.outcome, proven.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.JUDGING)


def test_no_harm_never_passes_a_canary_with_grave_harm() -> None:
    relaxed = plan(latency_max(100.0), require=Level.NO_HARM)
    half_slower = evidence(arm(300, factor=1.6), arm(5700, seed=2))
    assert verdict_on(relaxed, half_slower).outcome is Outcome.INCONCLUSIVE
    errors = plan(error_max(0.5), require=Level.NO_HARM)
    assert verdict_on(errors, evidence(arm(300, errors=12), arm(5700))).outcome is Outcome.INCONCLUSIVE


def test_no_harm_without_a_request_of_stable_to_compare_with_asks_that_each_limit_is_proven() -> None:
    step = plan(latency_max(), error_max(), require=Level.NO_HARM)
    nobody_on_stable = arm(0)
    for control in (None, nobody_on_stable):
        few = verdict_on(step, evidence(arm(200), control))
        assert (few.outcome, few.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.JUDGING)
        enough = verdict_on(step, evidence(arm(1000), control))
        assert enough.outcome is Outcome.PASS
        assert [found.ruled_out for found in enough.verdicts] == [pytest.approx(0.648), pytest.approx(0.01)]
        assert verdict_on(step, evidence(arm(200, errors=20), control)).outcome is Outcome.FAIL


def test_a_pass_is_not_looked_for_before_the_minimum_time_is_over() -> None:
    question, seen = plan(error_max()), evidence(arm(1000), until=at(4))
    early = verdict_on(question, seen, now=4.9)
    assert (early.outcome, early.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.JUDGING)
    assert early.state.of(error_max().key) == GateMemory(fail_looks=1, fail_at=1000)
    then = verdict_on(question, seen, now=5, state=early.state)
    assert then.outcome is Outcome.PASS
    assert then.state.of(error_max().key) == GateMemory(1, 1000, 1, 1000, Outcome.PASS)


def test_between_two_looks_the_last_result_stands() -> None:
    question = plan(error_max())
    first = verdict_on(question, evidence(arm(150), until=at(1)), now=1)
    # 224 requests with 50 failures would fail, but the next look is at 225.
    between = verdict_on(question, evidence(arm(224, errors=50), until=at(1)), now=1, state=first.state)
    assert between.outcome is Outcome.INCONCLUSIVE
    assert between.verdicts[0].next_look == 225
    assert between.detail.endswith("undecided, next look at n 225")
    assert between.state == first.state
    due = verdict_on(question, evidence(arm(225, errors=50), until=at(1)), now=1, state=between.state)
    assert due.outcome is Outcome.FAIL


def test_each_look_may_spend_half_of_what_the_look_before_it_could() -> None:
    # 9 failures of 300 against 1 %: p = 0.0036. The first look may spend 0.005, the second 0.0025.
    question, seen = plan(error_max(0.01)), evidence(arm(300, errors=9))
    assert verdict_on(question, seen).outcome is Outcome.FAIL
    once = JudgeState({error_max().key: GateMemory(fail_looks=1, fail_at=150)})
    assert verdict_on(question, seen, state=once).outcome is Outcome.INCONCLUSIVE


def test_gates_share_the_chance_of_a_wrong_fail() -> None:
    seen = evidence(arm(300, errors=9))
    assert verdict_on(plan(error_max(0.01)), seen).outcome is Outcome.FAIL
    assert verdict_on(plan(error_max(0.01), latency_max(5.0)), seen).outcome is Outcome.INCONCLUSIVE


def test_a_pass_stands_but_may_still_become_a_fail() -> None:
    question = plan(error_max())
    passed = verdict_on(question, evidence(arm(1000)))
    assert passed.outcome is Outcome.PASS
    worse = verdict_on(question, evidence(arm(1100, errors=20)), state=passed.state)
    assert worse.outcome is Outcome.PASS  # the next look is at 1,140
    failed = verdict_on(question, evidence(arm(1140, errors=40)), state=worse.state)
    assert failed.outcome is Outcome.FAIL


def test_a_fail_stands_whatever_comes_after_it() -> None:
    question = plan(error_max())
    failed = verdict_on(question, evidence(arm(1000, errors=60)))
    assert failed.outcome is Outcome.FAIL
    for later in (
        evidence(arm(90_000)),
        NoEvidence(Problem.NO_DATA, "gone"),
        evidence(arm(10), until=at(-60)),
    ):
        judgement = verdict_on(question, later, state=failed.state)
        assert judgement.outcome is Outcome.FAIL
        assert failing_of(judgement.verdicts) is not None


def test_a_pass_does_not_stand_without_fresh_evidence() -> None:
    question = plan(error_max())
    passed = verdict_on(question, evidence(arm(1000)))
    lost = verdict_on(
        question, NoEvidence(Problem.UNAVAILABLE, "Prometheus cannot be reached"), state=passed.state
    )
    assert (lost.outcome, lost.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.UNAVAILABLE)
    assert lost.detail == "Prometheus cannot be reached"
    assert [verdict.outcome for verdict in lost.verdicts] == [Outcome.INCONCLUSIVE]
    assert lost.state == passed.state
    assert verdict_on(question, evidence(arm(1001)), state=lost.state).outcome is Outcome.PASS


@pytest.mark.parametrize(("until", "fresh"), [(7, True), (6.9, False), (13, True), (13.1, False)])
def test_evidence_older_or_newer_than_the_staleness_limit_decides_nothing(until: float, fresh: bool) -> None:
    judgement = verdict_on(plan(error_max()), evidence(arm(1000), until=at(until)), now=10)
    assert (judgement.outcome is Outcome.PASS) is fresh
    if not fresh:
        assert judgement.reason is EvidenceReason.STALE_DATA
        assert judgement.state == JudgeState()


def test_a_plan_without_gates_passes_when_its_time_is_over_and_the_canary_serves() -> None:
    assert verdict_on(plan(ends=11), evidence(arm(10))).reason is EvidenceReason.JUDGING
    assert verdict_on(plan(ends=10), evidence(arm(10))).outcome is Outcome.PASS


def test_a_metric_that_was_not_measured_is_no_data() -> None:
    gate = Gate("tpot-p95", LatencyMetric.TPOT, 0.95, Kind.MAX, 0.1, Against.LIMIT)
    judgement = verdict_on(plan(gate), evidence(arm(6000)))
    assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.NO_DATA)


@pytest.mark.parametrize(
    ("requests", "reason"), [(100, EvidenceReason.TOO_QUIET), (400, EvidenceReason.UNDERPOWERED)]
)
def test_after_the_deadline_the_wait_is_over_and_the_reason_tells_why(
    requests: int, reason: EvidenceReason
) -> None:
    seen = evidence(arm(requests), arm(6000, seed=2), until=at(60))
    question = plan(regression())
    assert not verdict_on(question, seen, now=59.9).overdue
    judgement = verdict_on(question, seen, now=60)
    assert judgement.overdue
    assert judgement.reason is reason
    assert judgement.outcome is Outcome.INCONCLUSIVE


def test_final_evidence_that_is_too_little_is_overdue_at_once_but_lost_evidence_is_not() -> None:
    question = plan(regression(), ends=0, final=True)
    judgement = verdict_on(question, evidence(arm(400), arm(400, seed=2)))
    assert (judgement.reason, judgement.overdue) == (EvidenceReason.UNDERPOWERED, True)
    assert not verdict_on(question, NoEvidence(Problem.UNAVAILABLE, "later")).overdue


def test_when_requests_get_lost_no_look_is_taken_twice() -> None:
    question = plan(error_max())
    first = verdict_on(question, evidence(arm(500), until=at(1)), now=1)
    fewer = verdict_on(question, evidence(arm(300), until=at(1)), now=2, state=first.state)
    assert fewer.state == first.state
    assert fewer.verdicts[0].next_look == 507


def test_the_checks_run_in_the_order_of_what_outranks_what() -> None:
    assert (
        checks.an_objective_fails,
        checks.evidence_is_missing,
        checks.evidence_is_stale,
        checks.the_canary_is_unseen,
        checks.a_gate_is_undecided,
        checks.the_minimum_time_is_not_over,
    ) == checks.CHECKS


def test_the_gate_that_is_worst_off_gives_the_reason() -> None:
    no_ttft = ArmEvidence(1000, 0, {LatencyMetric.TTFT: Histogram.of(latencies(100))})
    judgement = verdict_on(plan(error_increase(), latency_max()), evidence(no_ttft, arm(1000)))
    assert judgement.reason is EvidenceReason.BELOW_FLOOR
    assert "ttft p95" in judgement.detail
    assert "n 100: undecided, needs 150 per arm" in judgement.detail


def test_every_reason_is_one_of_the_api() -> None:
    assert {reason.value for reason in EvidenceReason} <= {reason.value for reason in Reason}
    assert {problem.value for problem in Problem} <= {reason.value for reason in EvidenceReason}


def test_the_clock_is_only_an_argument() -> None:
    shift = timedelta(days=4000)

    def moved(when: datetime) -> datetime:
        return when + shift

    question, seen = plan(regression(), error_max()), evidence(arm(6000), arm(6000, seed=2))
    later = Plan(question.gates, question.require, moved(question.earliest_end), moved(question.deadline))
    assert judge(question, seen, None, JudgeState(), at(10)) == judge(
        later,
        evidence(seen.candidate, seen.control, until=moved(seen.until)),
        None,
        JudgeState(),
        moved(at(10)),
    )
