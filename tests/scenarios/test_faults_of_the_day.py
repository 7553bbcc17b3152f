"""What nodes, quotas and policies do to a revision's pods: told by its reason, and stable loses nothing."""

from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.observation import CreationRefusal
from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, in_stage, rolled_back, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import V1, V2, rollout_spec

V1_REVISION, V2_REVISION = (revision_of(rollout_spec(image)) for image in (V1, V2))
TURNED_AWAY = Behaviour(turned_away="UnexpectedAdmissionError")
MOST_PODS = 20
FAULTS = pytest.mark.parametrize(
    ("behaviour", "cause", "within"),
    [
        (Behaviour(starts_in=5, dies_after=3, exit_code=3), "CrashLoop", 60),
        (Behaviour(starts_in=5, dies_after=3, killed=True), "OutOfMemory", 60),
        (Behaviour(pulls=False), "ImagePull", 60),
        (Behaviour(fits=False), "Unschedulable", 310),
        (Behaviour(refused=CreationRefusal.QUOTA), "QuotaExceeded", 310),
        (Behaviour(refused=CreationRefusal.ADMISSION), "AdmissionDenied", 310),
        (Behaviour(starts_in=10_000), "ProgressDeadlineExceeded", 310),
        (TURNED_AWAY, "Unschedulable", 15),
    ],
)


def pods_made(operator: Operator, revision: str) -> int:
    return sum(pod.revision == revision for pod in operator.world.pods)


def run_watching_stable(operator: Operator, seconds: int) -> Operator:
    """Run until the attempt was rolled back; stable has all its pods and all the traffic, every second."""

    def done(operator: Operator) -> bool:
        assert len(operator.world.serving(V1_REVISION)) == 4
        assert operator.world.route is not None
        assert operator.world.route.intent.weight_of(V1_REVISION) == 10_000
        return rolled_back(operator)

    operator.run(seconds, until=done)
    return operator.run(3)


@FAULTS
def test_a_revision_that_cannot_run_costs_stable_nothing_and_says_why(
    behaviour: Behaviour, cause: str, within: int
) -> None:
    operator = run_watching_stable(rolling_out(behaviour), within)
    assert operator.condition("Promoted") == ("False", cause)
    assert operator.condition("Stalled") == ("True", "RolledBack")
    assert operator.condition("Available") == ("True", "StableServing")
    assert operator.world.replicas == {V1_REVISION: 4, V2_REVISION: 0}


@FAULTS
def test_a_crash_between_route_and_status_keeps_nobody_from_being_told_why(
    behaviour: Behaviour, cause: str, within: int
) -> None:
    def decided(operator: Operator) -> bool:
        return operator.world.route is not None and operator.world.route.intent.decision is not None

    undisturbed = rolling_out(behaviour).run(within, until=decided)
    after_the_route = undisturbed.writes - undisturbed.log[::-1].index("route") + 1
    want = undisturbed.run(30, until=rolled_back).state.last_attempt
    assert want is not None
    assert want.cause == cause

    crashed = rolling_out(behaviour)
    crashed.crash_before = after_the_route
    crashed.run(within, until=decided)
    assert crashed.crash_before is None
    assert crashed.state.stage is RolloutStage.DEPLOYING
    last = crashed.run(30, until=rolled_back).state.last_attempt
    assert last is not None
    assert (last.cause, last.message) == (want.cause, want.message)


def test_a_revision_without_room_waits_twice_as_long_before_each_further_attempt() -> None:
    operator = rolling_out(Behaviour(fits=False))
    waits = []
    for _ in range(3):
        operator.run(320, until=rolled_back)
        last = operator.state.last_attempt
        assert last is not None
        assert last.again_at is not None
        waits.append((last.again_at - last.ended_at).total_seconds())
        operator.run(waits[-1] + 5, until=in_stage(RolloutStage.DEPLOYING))
        assert operator.world.now >= last.again_at
    assert waits == [300, 600, 1200]


@pytest.mark.parametrize("step", ["canary-5", "canary-50"])
def test_pods_that_nodes_turn_away_one_after_another_are_not_made_without_an_end(step: str) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step(step))
    there = pods_made(operator, V2_REVISION)
    operator.world.behaviours[V2_REVISION] = TURNED_AWAY
    operator.run(15, until=in_stage(RolloutStage.IDLE))
    operator.run(60)
    assert pods_made(operator, V2_REVISION) - there <= MOST_PODS
    assert operator.state.failed == ()
    assert "(UnexpectedAdmissionError)" in operator.message("Promoted")
    assert_quiet(operator)


def test_pods_that_were_turned_away_before_do_not_count_when_there_is_another_attempt() -> None:
    operator = rolling_out(TURNED_AWAY).run(15, until=rolled_back)
    operator.run(5)
    operator.world.behaviours[V2_REVISION] = Behaviour()
    assert pods_made(operator, V2_REVISION) >= 5
    operator.run(1500, until=healthy)
    assert operator.state.attempts == 3


def test_a_crashing_pod_that_is_slow_to_leave_does_not_speak_against_the_next_attempt() -> None:
    operator = rolling_out(Behaviour(starts_in=5, dies_after=0)).run(60, until=rolled_back)
    operator.world.never_leaves.add(V2_REVISION)
    operator.run(120)
    operator.world.behaviours[V2_REVISION] = Behaviour()
    operator.command("Retry")
    operator.run(900, until=healthy)
    assert operator.state.attempts == 3


def test_pods_stuck_terminating_keep_no_rollback_from_ending_and_get_no_traffic() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-50"))
    operator.world.never_leaves.add(V2_REVISION)
    operator.world.behaviours[V2_REVISION] = Behaviour(errors=0.50)
    operator.run(900, until=rolled_back)
    operator.run(60)
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(V2_REVISION) == 0
    assert operator.world.replicas == {V1_REVISION: 4, V2_REVISION: 0}
    assert operator.condition("Available") == ("True", "StableServing")
    assert_quiet(operator)


def test_old_pods_stuck_terminating_keep_no_promotion_from_ending() -> None:
    operator = rolling_out(Behaviour())
    operator.world.never_leaves.add(V1_REVISION)
    operator.run(900, until=healthy)
    assert_quiet(operator)


def test_an_evicted_canary_pod_is_replaced_and_warmed_before_the_step_goes_on() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-50"))
    operator.world.evict_pods(V2_REVISION, 1)
    operator.run(2)
    assert operator.state.hold is not None
    assert operator.state.hold.reason == "CanaryUnavailable"
    operator.run(900, until=healthy)
    assert_quiet(operator)


def test_an_evicted_pod_of_a_rollout_at_rest_is_told_and_replaced() -> None:
    operator = serving_v1().run(120)
    operator.world.behaviours[V1_REVISION] = Behaviour(starts_in=100)
    operator.world.evict_pods(V1_REVISION, 1)
    operator.run(70)
    assert operator.condition("Available") == ("True", "StableUndersized")
    operator.run(120, until=healthy)
    assert operator.state.attempts == 1
