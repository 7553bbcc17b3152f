"""Stable has no Ready pod while another revision is tried: a person is needed, and is told what to do."""

from __future__ import annotations

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.revision import revision_of
from scenarios.ends import at_step, healthy, in_stage, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import V1, V2, V3, rollout_spec

STABLE = revision_of(rollout_spec(V1))


def kill_stable(operator: Operator) -> None:
    operator.world.behaviours[STABLE] = Behaviour(starts_in=10_000)
    operator.world.lose_pods(STABLE, 4)


def revive_stable(operator: Operator) -> None:
    operator.world.behaviours.pop(STABLE)


def assert_a_person_is_told(operator: Operator) -> None:
    assert operator.condition("Stalled") == ("True", "NoReadyEndpoint")
    assert operator.message("Stalled").endswith(
        f"Do: get a pod of {STABLE} ready; if none ever can be, kubectl chaffinch promote chat -n llm."
    )


def test_a_fix_for_a_dead_stable_revision_is_made_ready_and_then_needs_a_person() -> None:
    operator = serving_v1()
    kill_stable(operator)
    operator.edit(rollout_spec(V2))
    operator.run(60, until=in_stage(RolloutStage.STEPPING))
    operator.run(10)
    assert_a_person_is_told(operator)
    assert operator.condition("Available") == ("False", "NoReadyEndpoint")
    revive_stable(operator)
    operator.run(900, until=healthy)


def test_a_newer_revision_supersedes_one_that_waits_for_a_dead_stable_revision() -> None:
    operator = serving_v1()
    kill_stable(operator)
    operator.edit(rollout_spec(V2))
    operator.run(60, until=in_stage(RolloutStage.STEPPING))
    operator.edit(rollout_spec(V3))
    operator.run(10, until=lambda op: op.state.attempts == 3)
    operator.run(60, until=in_stage(RolloutStage.STEPPING))
    operator.run(10)
    assert_a_person_is_told(operator)
    revive_stable(operator)
    operator.run(900, until=healthy)
    assert operator.state.stable is not None
    assert operator.state.stable.revision == revision_of(rollout_spec(V3))


def test_a_canary_that_serves_in_place_of_stable_is_kept_until_stable_is_back_whatever_is_asked_for() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    v2 = revision_of(operator.spec)
    kill_stable(operator)
    operator.run(5)
    assert_a_person_is_told(operator)
    operator.edit(rollout_spec(V3))
    operator.run(60)
    assert operator.world.in_force is not None
    assert operator.world.effective_weights(operator.world.in_force.intent) == {STABLE: 0, v2: 10_000}
    assert_a_person_is_told(operator)
    revive_stable(operator)
    operator.run(900, until=healthy)
    assert operator.state.attempts == 3
