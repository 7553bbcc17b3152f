from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, Outcome, RolloutStage
from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, in_stage, rolled_back, rolling_out
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import V1, V2, V3, rollout_spec


def assert_v1_serves_alone(operator: Operator) -> None:
    v1, v2 = revision_of(rollout_spec(V1)), revision_of(rollout_spec(V2))
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(v1) == 10_000
    assert operator.world.replicas == {v1: 4, v2: 0}
    assert operator.condition("Available") == ("True", "StableServing")
    assert_quiet(operator)


@pytest.mark.parametrize(
    ("behaviour", "metric"),
    [(Behaviour(slowness=1.6), "ttft p95"), (Behaviour(errors=0.10), "errorRate")],
    ids=["latency", "errors"],
)
def test_evidence_of_harm_rolls_back_and_says_what_was_seen(behaviour: Behaviour, metric: str) -> None:
    operator = rolling_out(behaviour).run(900, until=rolled_back)
    v2 = revision_of(operator.spec)
    operator.run(5)
    last = operator.state.last_attempt
    assert last is not None
    assert (last.revision, last.outcome, last.cause) == (v2, Outcome.ROLLED_BACK, "ObjectiveFailed")
    assert metric in last.message
    assert operator.state.failed == (v2,)
    assert operator.condition("Ready") == ("False", "RolledBack")
    assert operator.condition("Stalled") == ("True", "RolledBack")
    assert operator.condition("Promoted") == ("False", "ObjectiveFailed")
    assert metric in operator.message("Stalled")
    assert_v1_serves_alone(operator)


def test_a_rollback_in_a_bake_says_that_there_was_nothing_to_compare_with() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("bake"))
    operator.world.behaviours[revision_of(operator.spec)] = Behaviour(errors=0.10)
    operator.run(900, until=rolled_back)
    last = operator.state.last_attempt
    assert last is not None
    assert last.cause == "ObjectiveFailed"
    assert last.message.endswith(": fail, step bake, without traffic on stable to compare with")


def test_a_failed_revision_is_not_retried_by_itself_nor_by_edits_of_another_kind() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=rolled_back)
    operator.edit(rollout_spec(V2, replicas=5))
    operator.run(120)
    assert operator.state.attempts == 2
    operator.edit(rollout_spec(V3))
    operator.run(900, until=healthy)
    operator.edit(rollout_spec(V2))
    operator.run(60)
    assert operator.condition("Stalled") == ("True", "RevisionPreviouslyFailed")
    assert operator.state.attempts == 3


def test_a_rollback_writes_the_route_before_the_status_and_scales_after_the_acknowledgement() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=at_step("canary-5"))
    operator.run(900, until=in_stage(RolloutStage.ROLLING_BACK))
    v2 = revision_of(operator.spec)
    assert operator.log[-2:] == ["route", "status"]
    assert operator.world.route is not None
    decision = operator.world.route.intent.decision
    assert decision is not None
    assert (decision.kind, decision.cause) == (DecisionKind.ROLLBACK, "ObjectiveFailed")
    assert operator.world.route.intent.weight_of(v2) == 0
    assert operator.world.in_force is not None
    assert operator.world.in_force.intent.weight_of(v2) > 0
    assert operator.world.replicas[v2] > 0
    operator.run(60, until=lambda op: op.world.replicas[v2] == 0)
    assert operator.world.in_force.intent.weight_of(v2) == 0


def test_a_rollback_whose_status_was_lost_in_a_crash_still_says_what_was_seen() -> None:
    reference = rolling_out(Behaviour(errors=0.10)).run(900, until=in_stage(RolloutStage.ROLLING_BACK))
    assert reference.log[-2:] == ["route", "status"]
    operator = rolling_out(Behaviour(errors=0.10))
    operator.crash_before = reference.writes
    for each in (reference, operator):
        each.run(900, until=rolled_back)
    assert operator.crash_before is None
    told = [each.state.last_attempt.message for each in (reference, operator) if each.state.last_attempt]
    assert "errorRate" in told[0]
    assert told == [told[0]] * 2


def test_routers_that_never_acknowledge_do_not_keep_a_bad_revision_alive() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=at_step("canary-5"))
    operator.world.routers_stuck = True
    operator.run(900, until=rolled_back)
    operator.run(2)
    assert operator.world.replicas[revision_of(operator.spec)] == 0


def crash_looping(**changes: float) -> Behaviour:
    return Behaviour(starts_in=5, dies_after=changes.get("dies_after", 8), exit_code=3)


def test_a_crash_loop_is_found_by_its_restarts_whatever_readiness_says() -> None:
    operator = rolling_out(crash_looping()).run(120, until=rolled_back)
    v2 = revision_of(operator.spec)
    operator.run(3)
    last = operator.state.last_attempt
    assert last is not None
    assert last.cause == "CrashLoop"
    assert "container engine of pod" in last.message
    assert "exit code 3" in last.message
    assert operator.state.failed == (v2,)
    assert_v1_serves_alone(operator)


def test_a_crash_loop_that_starts_at_weight_takes_traffic_off_first() -> None:
    operator = rolling_out(crash_looping(dies_after=40)).run(600, until=at_step("canary-5"))
    written = operator.writes
    operator.run(600, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "CrashLoop"
    operator.run(3)
    since = operator.log[written:]
    assert since.index("route") < since.index(f"Deployment/chat-{revision_of(operator.spec)}")
    assert_v1_serves_alone(operator)


@pytest.mark.parametrize(
    ("behaviour", "cause", "within"),
    [
        (Behaviour(pulls=False), "ImagePull", 60),
        (Behaviour(fits=False), "Unschedulable", 330),
        (Behaviour(starts_in=10_000), "ProgressDeadlineExceeded", 330),
        (Behaviour(starts_in=5, dies_after=1, killed=True), "OutOfMemory", 60),
    ],
)
def test_pods_that_cannot_work_are_told_by_their_reason(
    behaviour: Behaviour, cause: str, within: int
) -> None:
    operator = rolling_out(behaviour).run(within, until=rolled_back)
    operator.run(3)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == cause
    assert operator.condition("Promoted") == ("False", cause)
    assert operator.world.replicas[revision_of(operator.spec)] == 0


def test_a_revision_that_found_no_room_is_tried_again_after_a_while() -> None:
    operator = rolling_out(Behaviour(fits=False)).run(330, until=rolled_back)
    assert operator.state.failed == ()
    operator.world.behaviours.clear()
    operator.run(60)
    assert operator.state.attempts == 2
    operator.run(1500, until=healthy)
    assert operator.state.attempts == 3
