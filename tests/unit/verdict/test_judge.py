from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.evidence import ArmEvidence, Evidence, LatencyMetric, NoEvidence, Problem
from chaffinch.domain.grid import Histogram
from chaffinch.domain.verdict import (
    Against,
    ErrorMetric,
    EvidenceReason,
    Gate,
    GateMemory,
    Judgement,
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
    leaving,
    plan,
    regression,
)


def verdict_on(
    question: Plan,
    seen: Evidence | NoEvidence,
    *,
    now: float = 10,
    state: JudgeState | None = None,
    baseline: ArmEvidence | NoEvidence | None = None,
) -> Judgement:
    return judge(question, seen, baseline, state or JudgeState(), at(now))


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


def test_no_harm_without_anything_to_compare_with_asks_that_no_limit_is_broken() -> None:
    bake = plan(latency_max(), error_max(), require=Level.NO_HARM)
    assert verdict_on(bake, evidence(arm(200))).outcome is Outcome.PASS
    assert verdict_on(bake, evidence(arm(200, errors=20))).outcome is Outcome.FAIL


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


def test_a_plan_without_gates_passes_when_its_time_is_over_and_the_canary_serves() -> None:
    assert verdict_on(plan(ends=11), evidence(arm(10))).reason is EvidenceReason.JUDGING
    assert verdict_on(plan(ends=10), evidence(arm(10))).outcome is Outcome.PASS


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


def test_a_baseline_that_cannot_be_compared_with_leaves_its_gates_open_and_says_why() -> None:
    question = plan(error_max(), regression(against=Against.BASELINE), ends=0, final=True)
    mismatch = NoEvidence(Problem.NOT_COMPARABLE, "the baseline is of another model")
    judgement = verdict_on(question, evidence(arm(6000)), baseline=mismatch)
    assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.NOT_COMPARABLE)
    assert [verdict.outcome for verdict in judgement.verdicts] == [Outcome.PASS, Outcome.INCONCLUSIVE]
    missing = verdict_on(question, evidence(arm(6000)), baseline=None)
    assert (missing.outcome, missing.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.NO_DATA)


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


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ((LatencyMetric.TTFT, None, Kind.MAX, 1.0, Against.LIMIT), "needs a quantile"),
        ((LatencyMetric.TTFT, 95.0, Kind.MAX, 1.0, Against.LIMIT), "needs a quantile"),
        ((ErrorMetric.ERROR_RATE, 0.95, Kind.MAX, 1.0, Against.LIMIT), "has no quantile"),
        ((LatencyMetric.TTFT, 0.95, Kind.MAX, 1.0, Against.CONTROL), "exactly a max"),
        ((LatencyMetric.TTFT, 0.95, Kind.REGRESSION, 1.1, Against.LIMIT), "exactly a max"),
        ((LatencyMetric.TTFT, 0.95, Kind.REGRESSION, 0.05, Against.CONTROL), "1 or more"),
        ((ErrorMetric.ERROR_RATE, None, Kind.REGRESSION, 1.1, Against.CONTROL), "a ratio of latencies"),
        ((LatencyMetric.TTFT, 0.95, Kind.INCREASE, 0.1, Against.CONTROL), "difference of error rates"),
        ((ErrorMetric.ERROR_RATE, None, Kind.MAX, float("nan"), Against.LIMIT), "finite"),
        ((ErrorMetric.ERROR_RATE, None, Kind.MAX, -0.1, Against.LIMIT), "finite"),
    ],
)
def test_gates_that_ask_nothing_sensible_are_refused(
    gate: tuple[LatencyMetric | ErrorMetric, float | None, Kind, float, Against], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Gate("name", *gate)


def test_every_reason_is_one_of_the_api() -> None:
    assert {reason.value for reason in EvidenceReason} <= {reason.value for reason in Reason}
    assert {problem.value for problem in Problem} <= {reason.value for reason in EvidenceReason}


def test_a_plan_with_one_gate_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="two gates of a plan"):
        plan(error_max(0.1), error_max(0.2))


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
