"""Somebody else changes the router's objects: once is mended, again and again is a fight for a person."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, in_stage, rolled_back, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import V1, V2, rollout_spec
from scenarios.world import ROUTE, World
from scenarios.writers import OtherWriter

MOST = 5
SERVICE = "Service/chat"
V1_REVISION, V2_REVISION = (revision_of(rollout_spec(image)) for image in (V1, V2))


def fought(operator: Operator) -> bool:
    return operator.condition("Stalled") == ("True", "RouteFight")


def at_canary() -> Operator:
    return rolling_out(Behaviour()).run(900, until=at_step("canary-25"))


def in_fight(name: str = ROUTE, every: float = 3, operator: Operator | None = None) -> Operator:
    """Return an operator whose router somebody has changed too often; the writer goes on."""
    operator = operator or at_canary()
    operator.world.other_writer = OtherWriter(name, every)
    return operator.run(60 * every, until=fought).run(4)


def warnings(operator: Operator) -> list[str]:
    return [event.message for event in operator.events if event.warning and event.reason == "RouteFight"]


@pytest.mark.parametrize("name", [ROUTE, SERVICE])
def test_one_edit_is_put_back_quietly_and_forgotten(name: str) -> None:
    operator = serving_v1()
    before = len(operator.events)
    operator.world.other_writer = OtherWriter(name, every=100_000)
    operator.run(5)
    assert operator.world.put_back == {name: 1}
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(V1_REVISION) == 10_000
    assert healthy(operator)
    assert operator.state.router_edits is not None
    operator.run(26 * 60)  # a quarter of an hour, and the longest pause of a rollout at rest
    assert operator.state.router_edits is None
    assert operator.events[before:] == []
    assert_quiet(operator)


@pytest.mark.parametrize("name", [ROUTE, SERVICE])
@pytest.mark.parametrize("every", [1, 3, 180, 600])
def test_who_changes_it_again_and_again_is_met_five_times_and_then_a_person_is_asked(
    name: str, every: float
) -> None:
    operator = in_fight(name, every, serving_v1())
    print(f"{name} every {every} s: put back {operator.world.put_back[name]} times")
    assert operator.world.put_back == {name: MOST}
    told = f"{name} is changed by gitops again and again; it was put back {MOST} times"
    assert warnings(operator) == [told]
    assert told in operator.message("Stalled")
    assert "kubectl chaffinch retry chat -n llm" in operator.message("Stalled")
    operator.run(14 * 60)
    assert operator.world.put_back == {name: MOST}


def test_edits_that_are_far_apart_are_put_back_each_time() -> None:
    operator = serving_v1()
    operator.world.other_writer = OtherWriter(ROUTE, every=20 * 60)
    operator.run(2 * 3600)
    assert operator.world.put_back[ROUTE] == 6
    assert warnings(operator) == []


@pytest.mark.parametrize("name", [ROUTE, SERVICE])
def test_the_last_write_of_a_step_gives_the_canary_s_traffic_back_and_no_pod_goes(name: str) -> None:
    operator = at_canary()
    pods = dict(operator.world.replicas)
    in_fight(name, operator=operator)
    candidate = operator.state.candidate
    assert candidate is not None
    assert candidate.weight == 0
    operator.run(600)
    assert operator.state.stage is RolloutStage.STEPPING
    assert operator.world.replicas == pods
    if name == SERVICE:
        assert operator.world.route is not None
        assert operator.world.route.intent.weight_of(V1_REVISION) == 10_000
    assert operator.condition("Reconciling") == ("False", "RouteFight")


def test_what_somebody_else_makes_of_the_route_is_not_judged_and_passes_nothing() -> None:
    operator = in_fight()
    operator.world.behaviours[V2_REVISION] = Behaviour(errors=0.5)
    operator.run(800)
    assert operator.state.stage is RolloutStage.STEPPING
    assert operator.state.candidate is not None
    assert operator.state.candidate.step is not None
    assert operator.state.candidate.step.passed_at is None


@pytest.mark.parametrize("name", [ROUTE, SERVICE])
def test_a_fight_that_is_over_is_noticed_and_the_attempt_goes_on_at_its_step(name: str) -> None:
    operator = in_fight(name)
    operator.world.other_writer = None
    operator.run(20 * 60)
    assert operator.world.put_back == {name: MOST + (name in operator.world.put_back)}
    assert fought(operator)
    operator.run(12 * 60, until=at_step("canary-25"))
    operator.run(900, until=healthy)
    assert operator.state.attempts == 2
    assert operator.state.router_edits is None
    assert_quiet(operator)


def test_a_fight_that_goes_on_costs_one_write_in_a_quarter_of_an_hour() -> None:
    operator = in_fight()
    operator.run(3600)
    assert operator.world.put_back[ROUTE] == MOST + 3
    assert len(warnings(operator)) == 1
    assert fought(operator)


def test_retry_puts_it_back_at_once() -> None:
    operator = in_fight()
    operator.world.other_writer = None
    command = operator.command("Retry")
    operator.run(10)
    assert operator.answer_to(command) == "Accepted/Done"
    assert operator.world.put_back[ROUTE] == MOST + 1
    operator.run(900, until=healthy)
    assert operator.state.attempts == 2


def test_retry_while_it_goes_on_is_five_rounds_more() -> None:
    operator = in_fight()
    operator.command("Retry")
    operator.run(30, until=lambda operator: not fought(operator))
    operator.run(60, until=fought).run(60)
    assert operator.world.put_back[ROUTE] == 2 * MOST


def test_a_retry_of_another_revision_is_refused_in_a_fight_too() -> None:
    operator = in_fight()
    command = operator.command("Retry", V1_REVISION)
    operator.run(10)
    assert operator.answer_to(command) == "Refused/OtherRevision"


@pytest.mark.parametrize("ends", [lambda o: o.command("Abort"), lambda o: o.edit(rollout_spec(V1))])
def test_an_attempt_can_be_ended_in_a_fight(ends: Callable[[Operator], object]) -> None:
    operator = in_fight()
    ends(operator)
    operator.run(120, until=in_stage(RolloutStage.IDLE))
    assert fought(operator)
    assert operator.world.replicas[V1_REVISION] == 4
    assert len(warnings(operator)) == 1


def test_no_attempt_starts_in_a_fight() -> None:
    operator = in_fight(operator=serving_v1())
    operator.edit(rollout_spec(V2))
    operator.run(600)
    assert operator.state.stage is RolloutStage.IDLE
    assert operator.state.attempts == 1
    operator.world.other_writer = None
    operator.command("Retry")
    operator.run(900, until=healthy)
    assert operator.state.attempts == 2


def test_a_fight_while_pods_are_started_is_not_held_against_the_revision() -> None:
    operator = in_fight(SERVICE, operator=rolling_out(Behaviour(starts_in=30)))
    assert operator.state.stage is RolloutStage.DEPLOYING
    operator.world.other_writer = None
    operator.run(40 * 60, until=healthy)
    assert (operator.state.attempts, operator.state.failed) == (2, ())


def test_a_promotion_waits_with_the_pods_of_both_revisions() -> None:
    operator = at_canary()
    operator.command("Promote")
    operator.run(10, until=in_stage(RolloutStage.PROMOTING))
    in_fight(operator=operator)
    operator.run(300)
    assert operator.state.stage is RolloutStage.PROMOTING
    assert operator.world.replicas == {V1_REVISION: 4, V2_REVISION: 4}
    operator.world.other_writer = None
    operator.run(40 * 60, until=healthy)


def test_a_first_revision_waits_for_the_end_of_a_fight() -> None:
    operator = Operator(World(behaviours={V1_REVISION: Behaviour(starts_in=60)}), rollout_spec()).run(5)
    in_fight(SERVICE, operator=operator)
    operator.run(300)
    assert operator.condition("Available") == ("False", "NotDeployed")
    operator.world.other_writer = None
    operator.run(40 * 60, until=healthy)


def test_stable_keeps_no_traffic_that_it_could_not_carry() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("bake"))
    operator.world.behaviours[V1_REVISION] = Behaviour(starts_in=10_000)
    operator.world.lose_pods(V1_REVISION, 2)
    in_fight(SERVICE, operator=operator)
    assert operator.state.candidate is not None
    assert operator.state.candidate.weight == 10_000


@pytest.mark.parametrize("name", [ROUTE, SERVICE])
def test_a_crash_before_any_write_costs_one_round_more_at_most(name: str) -> None:
    prepared = at_canary()
    for write in range(1, 14):
        operator = copy.deepcopy(prepared)
        operator.crash_before = operator.writes + write
        in_fight(name, every=2, operator=operator)
        operator.run(30)
        assert operator.world.put_back[name] <= MOST + 1, f"crash before write {write}"


def test_a_bad_canary_is_rolled_back_whoever_edits_the_route_now_and_then() -> None:
    operator = at_canary()
    operator.world.other_writer = OtherWriter(ROUTE, every=17 * 60)
    operator.world.behaviours[V2_REVISION] = Behaviour(errors=0.5)
    operator.run(900, until=rolled_back)
