"""What holds of every judgement, whatever the evidence."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.domain.evidence import ArmEvidence, LatencyMetric, NoEvidence, Problem
from chaffinch.domain.grid import EDGES_SECONDS, OVERFLOW, Histogram
from chaffinch.domain.verdict import Gate, GateMemory, JudgeState, Level, Outcome, judge, tails
from chaffinch.domain.verdict.counts import Latencies
from chaffinch.domain.verdict.errors import Errors, Increase, ShareTest
from chaffinch.domain.verdict.latency import LimitTest
from unit.verdict.builders import (
    at,
    error_increase,
    error_max,
    evidence,
    latency_max,
    plan,
    regression,
)

GATES = (latency_max(), regression(), error_max(), error_increase())


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    counts = [0] * (OVERFLOW + 1)
    for bucket in draw(st.lists(st.sampled_from([100, 200, 202, 204, 220, 262, 300, OVERFLOW]), max_size=5)):
        counts[bucket] += draw(st.integers(1, 2000))
    return Histogram(tuple(counts))


@st.composite
def arms(draw: st.DrawFn) -> ArmEvidence:
    requests = draw(st.integers(0, 5000))
    errors = draw(st.integers(0, requests))
    return ArmEvidence(
        requests,
        errors,
        {LatencyMetric.TTFT: draw(histograms())},
        left={LatencyMetric.TTFT: draw(histograms())},
    )


@st.composite
def memories(draw: st.DrawFn) -> JudgeState:
    looks, count = st.integers(0, 12), st.integers(0, 6000)
    return JudgeState(
        {
            gate.key: GateMemory(
                draw(looks), draw(count), draw(looks), draw(count), draw(st.sampled_from(list(Outcome)))
            )
            for gate in GATES
        }
    )


levels = st.sampled_from(list(Level))
minutes = st.floats(-5, 90)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(Problem)), memories(), levels, minutes)
def test_no_evidence_is_never_a_pass(problem: Problem, state: JudgeState, level: Level, now: float) -> None:
    judgement = judge(plan(*GATES, require=level), NoEvidence(problem, "why"), None, state, at(now))
    assert judgement.outcome is not Outcome.PASS
    assert judgement.state == state


@settings(max_examples=60, deadline=None)
@given(arms(), st.one_of(st.none(), arms()), memories(), levels, minutes)
def test_a_pass_has_fresh_evidence_above_the_floor_and_a_step_that_is_old_enough(
    candidate: ArmEvidence, control: ArmEvidence | None, state: JudgeState, level: Level, now: float
) -> None:
    judgement = judge(plan(*GATES, require=level), evidence(candidate, control), None, state, at(now))
    if judgement.outcome is Outcome.PASS:
        assert candidate.requests > 0
        assert now >= 5
        assert abs(now - 10) <= 3
        assert all(verdict.outcome is Outcome.PASS for verdict in judgement.verdicts)
        fresh_passes = [gate for gate in GATES if state.of(gate.key).absorbed is not Outcome.PASS]
        latency, requests = candidate.latencies[LatencyMetric.TTFT].total, candidate.requests
        assert all((requests if gate.quantile is None else latency) >= 150 for gate in fresh_passes)


@settings(max_examples=60, deadline=None)
@given(arms(), st.one_of(st.none(), arms()), memories(), levels, minutes)
def test_the_same_evidence_again_changes_nothing(
    candidate: ArmEvidence, control: ArmEvidence | None, state: JudgeState, level: Level, now: float
) -> None:
    question, seen = plan(*GATES, require=level), evidence(candidate, control)
    once = judge(question, seen, None, state, at(now))
    assert judge(question, seen, None, once.state, at(now)) == once


@settings(max_examples=60, deadline=None)
@given(arms(), arms(), memories(), levels, minutes)
def test_the_memory_survives_its_way_through_the_status(
    candidate: ArmEvidence, control: ArmEvidence, state: JudgeState, level: Level, now: float
) -> None:
    judgement = judge(plan(*GATES, require=level), evidence(candidate, control), None, state, at(now))
    assert JudgeState.from_json(judgement.state.to_json()) == judgement.state


@settings(max_examples=60, deadline=None)
@given(arms(), arms(), memories(), st.sampled_from(GATES), minutes)
def test_a_fail_stays_a_fail(
    candidate: ArmEvidence, control: ArmEvidence, state: JudgeState, failed: Gate, now: float
) -> None:
    memory = replace(state.of(failed.key), absorbed=Outcome.FAIL)
    state = JudgeState({**state.gates, failed.key: memory})
    judgement = judge(plan(*GATES), evidence(candidate, control), None, state, at(now))
    assert judgement.outcome is Outcome.FAIL


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 3000), st.floats(0.0001, 0.9))
def test_one_more_failure_never_makes_a_broken_limit_less_likely(
    requests: int, failed: int, limit: float
) -> None:
    failed = min(failed, requests - 1)
    fewer = tails.log_binomial_upper(failed, requests, limit)
    assert tails.log_binomial_upper(failed + 1, requests, limit) <= fewer + 1e-9
    if ShareTest(Errors(failed, requests), limit).over(math.log(0.01)):
        assert ShareTest(Errors(failed + 1, requests), limit).over(math.log(0.01))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 3000), st.integers(1, 3000), st.integers(0, 3000))
def test_one_more_failure_never_makes_an_increase_less_likely(
    requests: int, failed: int, others: int, others_failed: int
) -> None:
    failed, others_failed = min(failed, requests - 1), min(others_failed, others)
    control = Errors(others_failed, others)
    low, high = Increase(Errors(failed, requests), control).interval(-4, -4)
    more_low, more_high = Increase(Errors(failed + 1, requests), control).interval(-4, -4)
    assert more_low >= low
    assert more_high >= high


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 2000), st.integers(1, 2000), st.data())
def test_one_more_request_of_the_canary_in_the_tail_never_makes_it_less_suspicious(
    canary: int, control: int, data: st.DataObject
) -> None:
    """At the same threshold. (Which threshold is nearest to the quantile may change with the pool.)"""
    in_tail = data.draw(st.integers(0, canary - 1))
    others = data.draw(st.integers(0, control))
    total = canary + control
    fewer = tails.log_hypergeometric_upper(in_tail, canary, in_tail + others, total)
    more = tails.log_hypergeometric_upper(in_tail + 1, canary, in_tail + 1 + others, total)
    assert more <= fewer + 1e-9


@settings(max_examples=60, deadline=None)
@given(histograms(), st.sampled_from([100, 200, 202]), st.sampled_from([200, 202, 220]))
def test_a_longer_latency_never_makes_a_broken_limit_less_likely(
    others: Histogram, bucket: int, limit_edge: int
) -> None:
    limit = EDGES_SECONDS[limit_edge]
    shorter, longer = (others + Histogram.of([seconds]) for seconds in (EDGES_SECONDS[bucket], math.inf))
    before, after = (LimitTest(Latencies(histogram), 0.95, limit) for histogram in (shorter, longer))
    if before.over(math.log(0.01)):
        assert after.over(math.log(0.01))
    if after.under(math.log(0.05)):
        assert before.under(math.log(0.05))


@settings(max_examples=60, deadline=None)
@given(histograms(), histograms())
def test_the_share_of_longer_ones_only_falls_with_the_edge(answered: Histogram, left: Histogram) -> None:
    latencies = Latencies(answered, left=left)
    above, known = latencies.above(), latencies.known()
    assert (above[1:] * known[:-1] <= above[:-1] * known[1:]).all()


@settings(max_examples=60, deadline=None)
@given(histograms(), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_without_anyone_who_left_a_quantile_is_the_histograms(answered: Histogram, p: float) -> None:
    assert Latencies(answered).quantile_bucket(p) == answered.quantile_bucket(p)
