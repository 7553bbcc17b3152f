"""The stage Promoting when it does not go as planned: stable is there until the candidate has everything."""

from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.attempt_status import Outcome, RolloutStage
from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, healthy, in_stage, rolling_out
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import STEPS, V1, V2, V3, rollout_spec, with_steps

CANARY_25 = {"name": "canary-25", "canary": {"weight": 25, "for": "60s", "require": "Proven"}}
UP_TO_25 = with_steps(STEPS[0], CANARY_25)
"""Two of four pods at the end: the others are added when the promotion is decided."""


def without_room_for_all() -> Operator:
    """Return a rollout that is decided to be promoted, with room for two of its four pods."""
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=UP_TO_25))
    operator.world.room = 6
    return operator.run(900, until=in_stage(RolloutStage.PROMOTING))


def weights(operator: Operator) -> tuple[int, int]:
    """Return the weights of stable and of the candidate in the stored route."""
    assert operator.world.route is not None
    stable = operator.world.route.intent.stable
    assert stable is not None
    weight = operator.world.route.intent.weight_of(stable)
    return weight, sum(arm.weight for arm in operator.world.route.intent.arms) - weight


def test_pods_that_find_no_room_are_said_to_at_the_deadline_and_awaited_all_the_same() -> None:
    operator = without_room_for_all()
    operator.run(290)
    assert operator.condition("Reconciling") == ("True", "Promoting")
    operator.run(20)
    assert operator.condition("Stalled") == ("True", "Unschedulable")
    assert weights(operator) == (7_500, 2_500)
    assert_quiet(operator)
    operator.world.make_room()
    operator.run(120, until=healthy)


@pytest.mark.parametrize("newer", [V1, V3], ids=["back to stable", "to a third"])
def test_a_newer_spec_supersedes_a_promotion_that_has_not_taken_all_traffic(newer: str) -> None:
    operator = without_room_for_all()
    v2 = revision_of(operator.spec)
    operator.edit(rollout_spec(newer, strategy=UP_TO_25))
    operator.run(10, until=lambda op: op.state.stage is not RolloutStage.PROMOTING)
    operator.world.make_room()
    operator.run(10, until=lambda op: op.state.stage is not RolloutStage.ROLLING_BACK)
    last = operator.state.last_attempt
    assert last is not None
    assert (last.revision, last.outcome) == (v2, Outcome.SUPERSEDED)
    assert weights(operator) == (10_000, 0)
    operator.run(900, until=healthy)
    assert operator.state.stable is not None
    assert operator.state.stable.revision == revision_of(operator.spec)


def test_a_crash_between_route_and_status_does_not_take_the_superseding_back() -> None:
    operator = without_room_for_all()
    spec = operator.spec
    operator.edit(rollout_spec(V1, strategy=UP_TO_25))
    operator.crash_before = operator.writes + 2  # the status, written after the route
    operator.run(30, until=lambda op: op.crash_before is None)
    operator.edit(spec)
    operator.run(
        10, until=lambda op: op.state.last_attempt is not None and op.state.last_attempt.attempt == 2
    )
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.outcome is Outcome.SUPERSEDED


def test_a_canary_that_is_lost_before_it_has_taken_over_leaves_the_traffic_to_stable() -> None:
    operator = without_room_for_all()
    v2 = revision_of(operator.spec)
    operator.world.lose_pods(v2, 4)
    operator.pass_once()
    assert operator.log[-2:] == ["route", "status"]
    assert weights(operator) == (10_000, 0)
    operator.run(5)
    assert operator.condition("Reconciling") == ("True", "Holding")
    operator.run(310)
    assert operator.condition("Stalled") == ("True", "Unschedulable")
    operator.world.make_room()
    operator.run(120, until=healthy)


def test_a_newer_spec_is_heard_when_the_canary_is_lost_with_all_the_traffic() -> None:
    operator = without_room_for_all()
    operator.world.make_room()
    operator.world.routers_stuck = True
    operator.run(60, until=lambda op: weights(op) == (0, 10_000))
    v2 = revision_of(operator.spec)
    operator.world.room = 0
    operator.world.lose_pods(v2, 4)
    operator.run(5)
    operator.world.routers_stuck = False
    operator.run(5)
    assert operator.state.stage is RolloutStage.PROMOTING
    operator.edit(rollout_spec(V1, strategy=UP_TO_25))
    operator.run(30, until=healthy)
    assert weights(operator) == (10_000, 0)
