from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.attempt_status import Outcome, RolloutStage
from chaffinch.domain.revision import revision_of
from chaffinch.domain.route import RouteArm
from scenarios.ends import assert_quiet, at_step, healthy, in_stage, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.specs import SHORT, STEPS, V2, rollout_spec, with_steps


def test_a_good_revision_is_promoted_step_by_step() -> None:
    operator = rolling_out(Behaviour())
    v2 = revision_of(operator.spec)
    operator.run(900, until=healthy)
    assert operator.state.stable is not None
    assert operator.state.stable.revision == v2
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.outcome is Outcome.PROMOTED
    assert operator.oracle.passes == {(2, index) for index in (1, 2, 3, 4)}
    assert_quiet(operator)
    assert operator.world.route is not None
    assert operator.world.route.intent.arms == (RouteArm(v2, 10_000, None),)
    assert sorted(operator.world.replicas.values()) == [0, 4]


def test_a_promotion_is_recorded_before_the_route_says_so() -> None:
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=SHORT)).run(900, until=at_step("bake"))
    operator.run(120, until=lambda op: bool(op.oracle.promotions))
    assert operator.log[-2:] == ["status", "route"]


def test_the_old_revision_is_kept_until_all_routers_have_followed() -> None:
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=with_steps(*STEPS[:4])))
    assert operator.state.stable is not None
    v1 = operator.state.stable.revision
    operator.run(900, until=in_stage(RolloutStage.PROMOTING))
    operator.world.routers_stuck = True
    operator.run(120)
    assert operator.world.replicas[v1] == 4
    assert operator.condition("Reconciling") == ("True", "Holding")
    operator.world.routers_stuck = False
    operator.run(30, until=healthy)


def test_promotion_restarts_no_pod() -> None:
    operator = rolling_out(Behaviour())
    operator.run(900, until=at_step("bake"))
    v2 = revision_of(operator.spec)
    before = operator.world.revision(v2).pods
    operator.run(300, until=healthy)
    operator.run(60)
    assert operator.world.revision(v2).pods == before


def test_the_old_revision_stays_at_full_size_until_the_bake_is_over() -> None:
    operator = rolling_out(Behaviour())
    assert operator.state.stable is not None
    v1 = operator.state.stable.revision
    operator.run(900, until=at_step("bake"))
    assert operator.world.replicas[v1] == 4
    assert len(operator.world.serving(v1)) == 4


@pytest.mark.parametrize(("step", "pods"), [("canary-5", 1), ("canary-25", 2), ("canary-50", 4), ("bake", 4)])
def test_each_step_has_the_pods_that_its_weight_needs(step: str, pods: int) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step(step))
    assert operator.world.replicas[revision_of(operator.spec)] == pods


def test_pods_that_a_later_step_adds_get_no_traffic_before_they_are_warm() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    candidate = operator.state.candidate
    assert candidate is not None
    assert candidate.warm_ups == 2
    assert len(candidate.warmed) == 2


def test_a_candidate_that_is_lost_when_it_was_just_given_all_traffic_gives_it_back() -> None:
    spec = rollout_spec(V2, strategy=with_steps(*STEPS[:4]))
    operator = rolling_out(Behaviour(), spec).run(900, until=in_stage(RolloutStage.PROMOTING))
    operator.run(60, until=lambda op: op.state.candidate is not None and op.state.candidate.weight == 10_000)
    operator.world.lose_pods(revision_of(spec), 4)
    operator.pass_once()
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(revision_of(spec)) == 0
    operator.run(120, until=healthy)


def test_without_a_bake_all_pods_are_warm_before_the_route_goes_to_100_percent() -> None:
    spec = rollout_spec(V2, strategy=with_steps(*STEPS[:4]))
    operator = rolling_out(Behaviour(), spec).run(900, until=healthy)
    assert len(operator.world.serving(revision_of(spec))) == 4
    assert_quiet(operator)


def test_edits_that_make_no_revision_wait_for_the_next_attempt() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    plan = operator.state.candidate and operator.state.candidate.plan
    operator.edit(rollout_spec(V2, replicas=3, strategy=with_steps(*STEPS[:4])))
    operator.run(10)
    assert operator.condition("SpecApplied") == ("False", "NextAttempt")
    assert (
        operator.message("SpecApplied") == "Changes of strategy, replicas take effect when attempt 2 is over."
    )
    assert operator.state.candidate is not None
    assert operator.state.candidate.plan == plan
    operator.run(900, until=healthy)
    assert operator.condition("SpecApplied") == ("True", "AsExpected")
    assert operator.world.replicas[revision_of(operator.spec)] == 3


def test_an_old_generation_is_never_said_to_be_ready() -> None:
    operator = serving_v1()
    operator.edit(rollout_spec(V2))
    operator.pass_once()
    assert operator.condition("Ready") == ("False", "RolloutInProgress")
    assert operator.status is not None
    assert operator.status.observed_generation == 2
