"""Revisions that are out: their pods stay until the last answer has ended, and no longer."""

from __future__ import annotations

import pytest

from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, rolled_back, rolling_out
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import STEPS, V1, V2, V3, rollout_spec, with_steps

NO_BAKE = with_steps(*STEPS[:4])


def promoted_while_v1_streams() -> tuple[Operator, str]:
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=NO_BAKE))
    v1 = revision_of(rollout_spec(V1, strategy=NO_BAKE))
    operator.world.open_requests = {v1: 2}
    return operator.run(900, until=healthy), v1


def test_a_rollback_without_open_requests_stops_the_pods_at_once() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=rolled_back)
    operator.run(1)
    assert operator.world.replicas[revision_of(operator.spec)] == 0


def test_a_rollback_takes_the_traffic_at_once_and_the_pods_when_their_answers_have_ended() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=at_step("canary-5"))
    v2 = revision_of(operator.spec)
    operator.world.open_requests = {v2: 1}
    operator.run(900, until=rolled_back)
    operator.run(120)
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(v2) == 0
    assert operator.world.replicas[v2] == 1
    operator.world.open_requests = {}
    operator.run(2)
    assert operator.world.replicas[v2] == 0
    assert_quiet(operator)


def test_a_promotion_keeps_the_old_pods_until_their_answers_have_ended() -> None:
    operator, v1 = promoted_while_v1_streams()
    operator.run(120)
    assert operator.world.replicas[v1] == 4
    operator.world.open_requests = {v1: 0}
    operator.run(2)
    assert operator.world.replicas[v1] == 0


def test_an_answer_without_end_does_not_keep_pods_for_ever() -> None:
    operator, v1 = promoted_while_v1_streams()
    operator.run(290)
    assert operator.world.replicas[v1] == 4
    operator.run(20)
    assert operator.world.replicas[v1] == 0
    assert_quiet(operator)


@pytest.mark.parametrize("back", [V1, V3], ids=["to the one that is leaving", "to a third"])
def test_an_edit_while_answers_end_starts_at_once(back: str) -> None:
    operator, _ = promoted_while_v1_streams()
    operator.edit(rollout_spec(back, strategy=NO_BAKE))
    operator.run(2, until=lambda op: op.state.attempts == 3)
    operator.run(900, until=healthy)
