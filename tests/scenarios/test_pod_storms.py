"""Nodes turn away one pod after another, and Deployments make others at once: that is kept in bounds."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, in_stage, rolled_back, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import STEPS, V1, V2, rollout_spec, with_steps
from scenarios.world import World

V1_REVISION, V2_REVISION = (revision_of(rollout_spec(image)) for image in (V1, V2))
TURNED_AWAY = Behaviour(turned_away="UnexpectedAdmissionError")
MOST_PODS = 20
QUARTER = 15 * 60


def first() -> Operator:
    """Return an operator of a first revision whose pods are turned away."""
    return Operator(World(behaviours={V1_REVISION: TURNED_AWAY}), rollout_spec())


def stable_that_lost(count: int) -> Callable[[], Operator]:
    """Return a stable revision that has lost pods, in whose places nodes take none."""

    def lose() -> Operator:
        operator = serving_v1()
        operator.world.turned_away_since[V1_REVISION] = operator.world.now
        operator.world.lose_pods(V1_REVISION, count)
        return operator

    return lose


def in_attempt() -> Operator:
    """Return a stable revision that has lost a pod while a canary is tried."""
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    operator.world.turned_away_since[V1_REVISION] = operator.world.now
    operator.world.lose_pods(V1_REVISION, 1)
    return operator


def promotion() -> Operator:
    """Return a promotion, asked for early, whose missing pods are turned away."""
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    operator.world.turned_away_since[V2_REVISION] = operator.world.now
    operator.command("Promote")
    return operator.run(5, until=in_stage(RolloutStage.PROMOTING))


STORMS: dict[str, tuple[Callable[[], Operator], str]] = {
    "a first revision": (first, V1_REVISION),
    "one pod of stable": (stable_that_lost(1), V1_REVISION),
    "three pods of stable": (stable_that_lost(3), V1_REVISION),
    "all pods of stable": (stable_that_lost(4), V1_REVISION),
    "a pod of stable in an attempt": (in_attempt, V1_REVISION),
    "a promotion": (promotion, V2_REVISION),
}


def pods_made(operator: Operator, revision: str) -> int:
    return operator.world.pods_made[revision]


def nodes_recover(operator: Operator) -> None:
    operator.world.behaviours.clear()
    operator.world.turned_away_since.clear()


@pytest.mark.parametrize("name", STORMS)
def test_twenty_pods_are_made_at_most_in_a_quarter_of_an_hour_and_none_that_serves_goes(name: str) -> None:
    begin, revision = STORMS[name]
    operator = begin()
    before = pods_made(operator, revision)
    serving = {pod.name for pod in operator.world.serving(revision)}
    minutes = []
    for second in range(QUARTER):
        operator.run(1)
        assert serving <= {pod.name for pod in operator.world.serving(revision)}
        if second in {59, QUARTER - 1}:
            minutes.append(pods_made(operator, revision) - before)
    print(f"{name}: {minutes[0]} pods made in a minute, {minutes[1]} in a quarter of an hour")
    assert minutes[1] <= MOST_PODS


@pytest.mark.parametrize("name", STORMS)
def test_when_nodes_take_pods_again_it_gets_all_of_them_one_by_one(name: str) -> None:
    operator = STORMS[name][0]().run(200)
    assert [storm.revision for storm in operator.state.storms] == [STORMS[name][1]]
    nodes_recover(operator)
    operator.run(2400, until=healthy)
    assert operator.state.storms == ()
    assert operator.state.failed == ()
    assert_quiet(operator)


@pytest.mark.parametrize(
    ("name", "condition"),
    [("a first revision", "Stalled"), ("a promotion", "Stalled"), ("one pod of stable", "Reconciling")],
)
def test_a_storm_is_told_with_the_time_of_the_next_pod(name: str, condition: str) -> None:
    operator = STORMS[name][0]().run(30)
    reason = "Scaling" if condition == "Reconciling" else "Unschedulable"
    assert operator.condition(condition) == ("True", reason)
    (storm,) = operator.state.storms
    assert f"{storm.again_at:%H:%M:%SZ}" in operator.message(condition)
    assert [event.action for event in operator.events if event.warning].count("Scale") == 1


QUICK = 10
"""Pods that a controller manager which nothing slows down makes in a second in the place of one."""


def beginning_with(weight: int) -> InferenceRolloutSpec:
    """Return a second version whose first step has this weight."""
    first = {"name": "first", "canary": {"weight": weight, "for": "60s", "require": "Proven"}}
    return rollout_spec(V2, strategy=with_steps(STEPS[0], first, STEPS[-1]))


@pytest.mark.parametrize(("weight", "size"), [(20, 1), (30, 2), (50, 4)])
def test_a_canary_of_any_size_makes_twenty_pods_at_most_though_they_are_made_quickly(
    weight: int, size: int
) -> None:
    spec = beginning_with(weight)
    operator = rolling_out(TURNED_AWAY, spec)
    operator.world.tries_per_second = QUICK
    operator.run(60)
    assert rolled_back(operator)
    assert QUICK <= pods_made(operator, revision_of(spec)) <= MOST_PODS
    operator.run(QUARTER - 60, until=lambda op: op.state.attempts == 3)
    assert pods_made(operator, revision_of(spec)) <= MOST_PODS + size


@pytest.mark.parametrize(("weight", "size"), [(30, 2), (50, 4)])
def test_pods_that_nodes_take_follow_one_another_by_a_second_and_are_warmed_together(
    weight: int, size: int
) -> None:
    spec = beginning_with(weight)
    operator = rolling_out(Behaviour(starts_in=200), spec).run(300, until=in_stage(RolloutStage.STEPPING))
    pods = [pod for pod in operator.world.pods if pod.revision == revision_of(spec)]
    first, *others = sorted(pod.created for pod in pods)
    assert [(other - first).total_seconds() for other in others] == list(range(1, size))
    assert [len(probe.pods) for probe in operator.world.probes.values()] == [size]


def test_a_first_revision_that_is_turned_away_quickly_makes_few_pods_though_it_is_to_be_large() -> None:
    operator = first()
    operator.world.tries_per_second = QUICK
    operator.run(60)
    assert QUICK <= pods_made(operator, V1_REVISION) <= MOST_PODS


def test_users_are_served_by_the_pods_that_are_left() -> None:
    operator = stable_that_lost(3)().run(60)
    assert operator.condition("Available") == ("True", "StableUndersized")
    assert operator.world.replicas == {V1_REVISION: 1}


def test_later_pods_are_waited_for_longer() -> None:
    operator = first().run(3600)
    assert operator.state.storms[0].tries == 5
    assert pods_made(operator, V1_REVISION) <= MOST_PODS + 4


def test_pods_that_are_evicted_together_are_no_storm() -> None:
    operator = serving_v1().run(120)
    operator.world.evict_pods(V1_REVISION, 4)
    operator.run(60, until=healthy)
    operator.world.evict_pods(V1_REVISION, 4)
    operator.run(60, until=healthy)
    assert not [event for event in operator.events if event.action == "Scale"]


def test_a_crash_before_any_write_makes_no_more_pods() -> None:
    prepared = first()
    for write in range(1, 30):
        operator = copy.deepcopy(prepared)
        operator.crash_before = write
        operator.run(120)
        assert pods_made(operator, V1_REVISION) <= MOST_PODS
