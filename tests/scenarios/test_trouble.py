from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.evidence import Problem
from chaffinch.domain.revision import revision_of
from chaffinch.domain.wording import moment
from scenarios.ends import assert_quiet, at_step, healthy, rolled_back, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import V2, rollout_spec


@pytest.mark.parametrize("problem", list(Problem))
def test_lost_evidence_holds_and_never_rolls_back_nor_advances(problem: Problem) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    operator.world.evidence_problem = problem
    operator.run(3600)
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(revision_of(operator.spec)) == 2_500
    assert operator.state.stage is RolloutStage.STEPPING
    assert operator.condition("Stalled") == ("True", "NoEvidence")
    operator.world.evidence_problem = None
    operator.run(900, until=healthy)


def test_a_hold_says_what_is_missing_and_until_when() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    operator.world.evidence_problem = Problem.UNAVAILABLE
    operator.run(10)
    assert operator.condition("Reconciling") == ("True", "Holding")
    assert operator.condition("Evidence") == ("Unknown", "EvidenceUnavailable")
    assert operator.message("Reconciling").startswith("Step 3/5 canary-25: 25% on ")
    assert "EvidenceUnavailable: the source of evidence is in trouble" in operator.message("Reconciling")
    assert operator.state.hold is not None
    assert operator.state.hold.deadline is not None
    assert f"Waits until {moment(operator.state.hold.deadline)}" in operator.message("Reconciling")


def clock_of(operator: Operator) -> datetime:
    candidate = operator.state.candidate
    assert candidate is not None
    assert candidate.step is not None
    assert candidate.step.acknowledged_at is not None
    return candidate.step.acknowledged_at


@pytest.mark.parametrize("step", ["canary-5", "canary-50", "bake"])
def test_a_canary_that_lost_all_pods_gets_no_weight_until_it_is_warm_again(step: str) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step(step))
    v2 = revision_of(operator.spec)
    entered = clock_of(operator)
    operator.world.lose_pods(v2, 4)
    operator.run(2)
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(v2) == 0
    assert operator.condition("Available")[0] == "True"
    assert operator.state.hold is not None
    assert operator.state.hold.reason == "CanaryUnavailable"
    operator.run(60, until=at_step(step))
    assert clock_of(operator) > entered
    operator.run(900, until=healthy)
    assert_quiet(operator)


def test_a_lost_canary_is_taken_off_the_route_before_anything_else_is_written() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    v2 = revision_of(operator.spec)
    operator.world.lose_pods(v2, 4)
    writes = operator.writes
    operator.pass_once()
    assert operator.log[writes:][:2] == ["route", "status"]
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(v2) == 0


def test_a_canary_that_lost_one_of_its_pods_is_not_judged_until_it_is_back() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-50"))
    v2 = revision_of(operator.spec)
    operator.world.lose_pods(v2, 1)
    operator.run(2)
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(v2) == 5_000
    assert operator.state.candidate is not None
    assert operator.state.candidate.step is not None
    assert operator.state.candidate.step.acknowledged_at is None
    operator.run(900, until=healthy)


def test_a_canary_that_stays_away_is_rolled_back_without_blame() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    v2 = revision_of(operator.spec)
    operator.world.behaviours[v2] = Behaviour(starts_in=10_000)
    operator.world.lose_pods(v2, 4)
    operator.run(330, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "CanaryUnavailable"
    assert operator.state.failed == ()


def test_traffic_is_never_taken_back_to_a_stable_revision_without_a_pod() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=at_step("canary-5"))
    assert operator.state.stable is not None
    operator.world.behaviours[operator.state.stable.revision] = Behaviour(starts_in=10_000)
    operator.world.lose_pods(operator.state.stable.revision, 4)
    operator.run(300)
    assert operator.state.hold is not None
    assert operator.state.hold.reason == "NoReadyEndpoint"
    operator.world.behaviours.pop(operator.state.stable.revision)
    operator.run(300, until=rolled_back)


def test_failed_reads_change_nothing() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    operator.world.problems = ("the API server did not answer",)
    writes = operator.writes
    operator.run(600)
    assert operator.writes == writes
    operator.world.problems = ()
    operator.run(900, until=healthy)


def test_failed_reads_are_no_change_of_a_healthy_rollout() -> None:
    operator = serving_v1()
    status, writes = operator.status, operator.writes
    operator.world.problems = ("the API server did not answer",)
    operator.run(60)
    assert (operator.status, operator.writes) == (status, writes)


def test_a_taken_name_stalls_and_nothing_else_is_written() -> None:
    operator = serving_v1()
    operator.world.taken = ("Service/chat",)
    operator.edit(rollout_spec(V2))
    operator.run(2)
    assert operator.condition("Stalled") == ("True", "NameTaken")
    assert operator.condition("Ready")[0] == "False"
    assert revision_of(operator.spec) not in operator.world.replicas
    assert_quiet(operator)
    operator.world.taken = ()
    operator.run(900, until=healthy)


def test_weight_that_routers_do_not_acknowledge_is_a_hold() -> None:
    operator = rolling_out(Behaviour())
    operator.run(60, until=lambda op: op.state.stage is RolloutStage.STEPPING)
    operator.world.routers_stuck = True
    operator.run(90)
    assert operator.state.hold is not None
    assert operator.state.hold.reason == "WeightNotObserved"
    operator.world.routers_stuck = False
    operator.run(900, until=healthy)


def test_a_canary_whose_endpoints_routers_do_not_see_has_no_clock() -> None:
    operator = rolling_out(Behaviour())
    operator.world.unseen_by_routers.add(revision_of(operator.spec))
    operator.run(120, until=lambda op: op.state.hold is not None)
    assert operator.state.hold is not None
    assert operator.state.hold.reason == "WeightNotObserved"
    assert operator.state.candidate is not None
    assert operator.state.candidate.step is not None
    assert operator.state.candidate.step.acknowledged_at is None
    operator.world.unseen_by_routers.clear()
    operator.run(900, until=healthy)


@pytest.mark.parametrize("epoch", [0, 1], ids=["of an older epoch", "of an older sequence"])
def test_a_route_restored_from_a_backup_is_written_anew_so_that_agents_accept_it(epoch: int) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    route = operator.world.route
    assert route is not None
    operator.world.route = replace(route, epoch=epoch, sequence=route.sequence - 2, resource_version="v0")
    operator.run(10)
    assert operator.world.route == operator.world.in_force
    assert operator.world.route.sequence == route.sequence + 1
    operator.run(900, until=healthy)
