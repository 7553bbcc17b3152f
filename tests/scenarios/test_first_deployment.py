from __future__ import annotations

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.revision import revision_of
from chaffinch.domain.route import RouteArm
from scenarios.ends import assert_quiet, healthy
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import V2, rollout_spec
from scenarios.world import World


def test_the_first_revision_serves_everything_once_all_its_pods_are_warm() -> None:
    operator = Operator(World(), rollout_spec()).run(60, until=healthy)
    revision = revision_of(operator.spec)
    assert operator.world.route is not None
    assert operator.world.route.intent.arms == (RouteArm(revision, 10_000, None),)
    assert operator.state.stable is not None
    assert operator.state.stable.revision == revision
    assert operator.condition("Available") == ("True", "StableServing")
    assert_quiet(operator)


def test_nothing_gets_traffic_before_it_is_warm() -> None:
    operator = Operator(World(), rollout_spec())
    operator.run(14)
    assert operator.world.route is not None
    assert operator.world.route.intent.arms[0].weight == 0
    assert operator.condition("Available") == ("False", "NotDeployed")
    assert operator.condition("Reconciling") == ("True", "WarmingUp")


def test_a_first_revision_that_crashes_stalls_and_recovers_by_itself() -> None:
    operator = Operator(World(), rollout_spec())
    revision = revision_of(operator.spec)
    operator.world.behaviours[revision] = Behaviour(starts_in=5, dies_after=0)
    operator.run(30)
    assert operator.state.stage is RolloutStage.DEPLOYING
    assert operator.condition("Stalled") == ("True", "CrashLoop")
    assert operator.condition("Promoted") == ("False", "CrashLoop")
    operator.world.behaviours[revision] = Behaviour()
    operator.run(60, until=healthy)


def test_another_spec_replaces_a_first_revision_that_never_came_up() -> None:
    operator = Operator(World(), rollout_spec())
    broken = revision_of(operator.spec)
    operator.world.behaviours[broken] = Behaviour(pulls=False)
    operator.run(60)
    assert operator.condition("Stalled") == ("True", "ImagePull")
    operator.edit(rollout_spec(V2))
    operator.run(120, until=healthy)
    assert operator.world.replicas[broken] == 0
    assert_quiet(operator)


def test_replicas_scale_stable_without_a_new_attempt() -> None:
    operator = Operator(World(), rollout_spec()).run(60, until=healthy)
    operator.edit(rollout_spec(replicas=2))
    operator.run(30, until=healthy)
    assert operator.state.attempts == 1
    assert operator.world.replicas == {revision_of(operator.spec): 2}
