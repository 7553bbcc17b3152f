"""Load that the operator asks for: measurements of a probe step, and warm-ups."""

from __future__ import annotations

from datetime import timedelta

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.domain.revision import revision_of
from scenarios.ends import at_step, healthy, rolled_back, rolling_out
from scenarios.engines import Behaviour
from scenarios.evidence import arm
from scenarios.operator_under_test import Operator
from scenarios.specs import SHORT, STEPS, V2, rollout_spec, with_steps
from scenarios.world import World

PROBE = {"name": "probe", "probe": {"profile": "smoke/v1"}}


def probing(behaviour: Behaviour) -> Operator:
    baseline = {"name": "chat-base", "version": "v1"}
    spec = rollout_spec(V2, baseline=baseline, strategy=with_steps(STEPS[0], PROBE, *STEPS[1:]))
    operator = rolling_out(behaviour, spec)
    operator.world.with_baseline("chat-base-v1")
    return operator


def test_a_probe_compares_with_the_baseline_before_any_traffic() -> None:
    operator = probing(Behaviour(slowness=1.3)).run(300, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert "the baseline" in operator.state.last_attempt.message
    assert operator.state.last_attempt.message.endswith(", step probe, baseline chat-base-v1")
    assert not operator.oracle.passes
    good = probing(Behaviour()).run(900, until=healthy)
    assert good.condition("BaselineValid") == ("True", "Matched")


def test_what_is_missed_on_live_traffic_is_not_said_to_be_held_to_the_baseline() -> None:
    operator = probing(Behaviour()).run(300, until=at_step("canary-5"))
    operator.world.behaviours[revision_of(operator.spec)] = Behaviour(slowness=1.8)
    operator.run(600, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.message.endswith(", step canary-5")


def test_a_missing_baseline_holds_the_probe_step_until_it_is_there() -> None:
    operator = probing(Behaviour())
    baseline, operator.world.baseline = operator.world.baseline, None
    operator.run(120)
    assert operator.condition("Reconciling") == ("True", "Holding")
    assert operator.oracle.passes == set()
    operator.world.baseline = baseline
    operator.run(900, until=healthy)


def runs_of_the_probe(operator: Operator) -> list[str]:
    return [name for name in operator.world.made if name.startswith("LoadProbe/") and "-s1" in name]


def warm_ups(operator: Operator) -> list[str]:
    return [name for name in operator.world.made if name.startswith("LoadProbe/") and "-w" in name]


def assert_held_for_good(operator: Operator, words: str) -> None:
    assert operator.state.hold is not None
    assert operator.state.hold.reason == "ProbeFailed"
    assert words in operator.state.hold.message
    assert operator.condition("Stalled") == ("True", "ProbeFailed")
    retry = "kubectl chaffinch retry chat -n llm"
    assert operator.message("Stalled").endswith(f"look into the LoadProbe, then {retry}.")
    before = operator.writes
    operator.run(600)
    assert operator.writes == before


def test_load_that_takes_as_long_as_its_profile_lets_it_is_waited_for() -> None:
    operator = probing(Behaviour())
    operator.world.load_takes, operator.world.load_may_take = timedelta(minutes=70), timedelta(minutes=75)
    operator.run(69 * 60)
    assert operator.state.hold is None
    assert operator.condition("Stalled") == ("False", "AsExpected")
    operator.run(900, until=healthy)
    assert len(runs_of_the_probe(operator)) == 1


def test_load_that_does_not_end_when_it_should_needs_a_person() -> None:
    operator = probing(Behaviour()).run(60, until=at_step("probe"))
    operator.world.load_takes, operator.world.load_may_take = timedelta(days=1), timedelta(minutes=75)
    operator.run(79 * 60)
    assert operator.state.hold is None
    operator.run(2 * 60)
    assert operator.condition("Stalled") == ("True", "ProbeFailed")
    assert "still Running" in operator.message("Stalled")


def test_load_that_fails_late_is_run_again_without_a_person() -> None:
    operator = probing(Behaviour()).run(60, until=at_step("probe"))
    operator.world.load_takes, operator.world.load_may_take = timedelta(minutes=70), timedelta(minutes=75)
    operator.run(65 * 60)
    operator.world.probes_fail = True
    operator.run(5)
    operator.world.probes_fail = False
    assert operator.condition("Reconciling") == ("True", "Holding")
    assert operator.condition("Stalled") == ("False", "AsExpected")
    operator.run(60 * 60)
    assert operator.state.hold is None
    operator.run(900, until=at_step("canary-5"))
    assert len(runs_of_the_probe(operator)) == 2


def test_load_that_was_too_little_to_decide_needs_a_person_at_once_who_runs_it_again() -> None:
    operator = probing(Behaviour()).run(60, until=at_step("probe"))
    operator.world.probe_result = arm(200, slowness=1.1)
    operator.run(60)
    assert operator.condition("Stalled") == ("True", "NoEvidence")
    assert operator.condition("Evidence") == ("False", "Underpowered")
    operator.run(3600)
    assert len(runs_of_the_probe(operator)) == 1
    operator.world.probe_result = None
    operator.command("Retry")
    operator.run(900, until=healthy)
    assert len(runs_of_the_probe(operator)) == 2


def test_a_probe_that_fails_is_run_three_times_less_and_less_often_and_then_holds() -> None:
    operator = probing(Behaviour()).run(60, until=at_step("probe"))
    operator.world.probes_fail = True
    operator.run(28)
    assert operator.condition("Reconciling") == ("True", "Holding")
    assert len(runs_of_the_probe(operator)) == 1
    operator.run(10)
    assert len(runs_of_the_probe(operator)) == 2
    operator.run(50)
    assert len(runs_of_the_probe(operator)) == 2
    operator.run(20)
    assert len(runs_of_the_probe(operator)) == 3
    assert_held_for_good(operator, "The worker ended without a result.")


def test_a_probe_that_fails_once_is_run_again_and_counts() -> None:
    operator = probing(Behaviour()).run(60, until=at_step("probe"))
    operator.world.probes_fail = True
    operator.run(5)
    operator.world.probes_fail = False
    operator.run(120, until=at_step("canary-5"))
    assert len(runs_of_the_probe(operator)) == 2
    assert (2, 1) in operator.oracle.passes
    operator.run(900, until=healthy)


def test_a_result_that_cannot_be_used_is_measured_again_and_never_counts() -> None:
    operator = probing(Behaviour()).run(60, until=at_step("probe"))
    operator.world.probe_result = NoEvidence(Problem.NOT_COMPARABLE, "the load generator did not keep up")
    operator.run(45)
    assert operator.oracle.passes == set()
    runs = len(runs_of_the_probe(operator))
    operator.world.probe_result = None
    operator.run(900, until=healthy)
    assert len(runs_of_the_probe(operator)) == runs + 1


def test_results_that_can_never_be_used_hold_with_the_reason() -> None:
    operator = probing(Behaviour()).run(60, until=at_step("probe"))
    operator.world.probe_result = NoEvidence(Problem.NOT_COMPARABLE, "the load generator did not keep up")
    operator.run(300)
    assert operator.oracle.passes == set()
    assert_held_for_good(operator, "the load generator did not keep up")


def test_a_probe_whose_pod_was_lost_says_nothing_about_the_revision() -> None:
    operator = probing(Behaviour()).run(60, until=at_step("probe"))
    operator.run(10)
    operator.world.lose_pods(revision_of(operator.spec), 1)
    operator.run(900, until=healthy)
    assert len(runs_of_the_probe(operator)) == 2
    assert operator.state.attempts == 2


def test_a_probe_that_loses_its_pod_in_every_run_holds() -> None:
    operator = probing(Behaviour())
    for _ in range(3):
        operator.run(120, until=at_step("probe"))
        operator.run(10)
        operator.world.lose_pods(revision_of(operator.spec), 1)
        operator.run(2)
    operator.run(60)
    assert len(runs_of_the_probe(operator)) == 3
    assert_held_for_good(operator, "lost pods in the last of 3 runs")


def test_warm_ups_that_fail_are_tried_three_times_and_then_a_person_is_told() -> None:
    operator = rolling_out(Behaviour())
    operator.world.probes_fail = True
    operator.run(20)
    assert len(warm_ups(operator)) == 2, "of the first revision, and one of the second"
    operator.run(200)
    assert len(warm_ups(operator)) == 4
    assert operator.state.hold is not None
    assert operator.state.hold.reason == "ProbeFailed"
    assert "The worker ended without a result." in operator.message("Reconciling")
    operator.run(120, until=rolled_back)
    assert len(warm_ups(operator)) == 4
    last = operator.state.last_attempt
    assert last is not None
    assert last.cause == "ProgressDeadlineExceeded"
    assert "The worker ended without a result." in last.message


def test_a_warm_up_that_fails_once_is_tried_again_after_a_while() -> None:
    operator = rolling_out(Behaviour())
    operator.world.probes_fail = True
    operator.run(20)
    operator.world.probes_fail = False
    assert len(warm_ups(operator)) == 2, "of the first revision, and one of the second"
    operator.run(120, until=at_step("canary-5"))
    assert len(warm_ups(operator)) == 3
    operator.run(900, until=healthy)
    assert operator.state.attempts == 2


def test_a_first_revision_that_cannot_be_warmed_stalls_until_its_pods_are_replaced() -> None:
    operator = Operator(World(probes_fail=True), rollout_spec(strategy=SHORT))
    operator.run(200)
    assert operator.condition("Stalled") == ("True", "ProbeFailed")
    operator.run(200)
    assert operator.condition("Stalled") == ("True", "ProgressDeadlineExceeded")
    assert "The worker ended without a result." in operator.message("Stalled")
    assert len(warm_ups(operator)) == 3
    operator.world.probes_fail = False
    operator.world.lose_pods(revision_of(operator.spec), 4)
    operator.run(60, until=healthy)


@pytest.mark.parametrize("lost", [1, 2])
def test_pods_that_are_lost_while_they_are_warmed_are_no_failure_of_the_warm_up(lost: int) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    operator.run(900, until=lambda op: op.state.candidate is not None and op.state.candidate.warm_ups == 3)
    candidate = operator.state.candidate
    assert candidate is not None
    assert candidate.warm_up is not None
    names = [pod.name for pod in candidate.warm_up.pods][:lost]
    operator.world.lose_pods_named(names)
    began = operator.world.now
    operator.run(60, until=at_step("canary-50"))
    assert operator.world.now - began < timedelta(seconds=30)


def test_nothing_runs_that_was_warmed_up_for_a_superseded_revision() -> None:
    operator = rolling_out(Behaviour())
    operator.world.probes_fail = True
    operator.run(20)
    superseded, begun = revision_of(operator.spec), warm_ups(operator)
    operator.edit(rollout_spec())
    operator.run(30, until=healthy)
    operator.world.probes_fail = False
    operator.run(120)
    assert operator.state.stage is RolloutStage.IDLE
    assert warm_ups(operator) == begun
    assert not operator.world.probes
    assert operator.world.replicas[superseded] == 0
