"""Routers that cannot be asked, with and without evidence of what they do."""

from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.evidence import Problem
from chaffinch.domain.revision import revision_of
from scenarios.ends import at_step, healthy, in_stage, rolled_back, rolling_out
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import STEPS, V2, rollout_spec, with_steps


def weight_of(operator: Operator) -> int:
    assert operator.world.route is not None
    return operator.world.route.intent.weight_of(revision_of(operator.spec))


def fall_silent(operator: Operator, evidence_problem: Problem | None) -> None:
    operator.world.routers_silent = True
    operator.world.evidence_problem = evidence_problem


def speak_again(operator: Operator) -> None:
    operator.world.routers_silent = False
    operator.world.evidence_problem = None


@pytest.mark.parametrize(("step", "weight"), [("canary-5", 500), ("canary-50", 5_000)])
def test_a_canary_that_nothing_watches_for_minutes_loses_its_weight_and_keeps_its_pods(
    step: str, weight: int
) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step(step))
    pods = operator.world.replicas[revision_of(operator.spec)]
    fall_silent(operator, Problem.STALE_DATA)
    operator.run(170)
    assert weight_of(operator) == weight
    assert operator.condition("Reconciling") == ("True", "Holding")
    operator.run(20)
    assert weight_of(operator) == 0
    assert operator.world.replicas[revision_of(operator.spec)] == pods
    assert operator.condition("Stalled") == ("True", "RoutersSilent")
    assert operator.message("Stalled").endswith("Do: look at the router's pods.")
    operator.run(600)
    assert operator.state.stage is RolloutStage.STEPPING
    speak_again(operator)
    operator.run(30, until=at_step(step))
    assert weight_of(operator) == weight
    operator.run(900, until=healthy)
    assert operator.state.attempts == 2


def test_more_than_half_of_the_traffic_stays_where_it_is() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("bake"))
    fall_silent(operator, Problem.UNAVAILABLE)
    operator.run(400)
    assert weight_of(operator) == 10_000
    assert operator.condition("Stalled") == ("True", "RoutersSilent")
    speak_again(operator)
    operator.run(200, until=healthy)


def test_a_short_silence_changes_nothing() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    candidate = operator.state.candidate
    assert candidate is not None
    fall_silent(operator, None)
    operator.run(20)
    speak_again(operator)
    operator.run(10)
    after = operator.state.candidate
    assert after is not None
    assert after.step is not None
    assert candidate.step is not None
    assert after.step.acknowledged_at == candidate.step.acknowledged_at
    assert operator.state.hold is None


def test_a_step_does_not_pass_and_does_not_lose_its_weight_while_silent_routers_are_measured() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    fall_silent(operator, None)
    operator.run(600)
    assert (weight_of(operator), operator.condition("Stalled")) == (2_500, ("True", "RoutersSilent"))
    speak_again(operator)
    operator.run(900, until=healthy)


def test_harm_that_silent_routers_have_counted_still_rolls_back() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=at_step("canary-5"))
    fall_silent(operator, None)
    operator.run(300, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "ObjectiveFailed"


def test_a_weight_that_never_comes_into_force_needs_a_person_in_the_end() -> None:
    operator = rolling_out(Behaviour())
    operator.run(60, until=in_stage(RolloutStage.STEPPING))
    operator.world.routers_stuck = True
    operator.run(1_000)
    assert operator.condition("Reconciling") == ("True", "Holding")
    operator.run(1_000)
    assert operator.condition("Stalled") == ("True", "WeightNotObserved")
    operator.world.routers_stuck = False
    operator.run(900, until=healthy)


def test_a_promotion_that_routers_do_not_follow_needs_a_person_and_ends_by_itself_when_they_do() -> None:
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=with_steps(*STEPS[:4])))
    operator.run(900, until=in_stage(RolloutStage.PROMOTING))
    operator.world.routers_stuck = True
    operator.run(400)
    assert operator.condition("Stalled") == ("True", "WeightNotObserved")
    assert operator.state.stable is not None
    assert operator.world.replicas[operator.state.stable.revision] == 4
    operator.world.routers_stuck = False
    operator.run(60, until=healthy)
