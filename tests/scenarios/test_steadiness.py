"""Pods that come and go while a step runs, of either revision."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.revision import revision_of
from scenarios.ends import at_step, healthy, rolled_back, rolling_out
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import STEPS, V2, rollout_spec, with_steps


def clock_of(operator: Operator) -> datetime | None:
    candidate = operator.state.candidate
    assert candidate is not None
    assert candidate.step is not None
    return candidate.step.acknowledged_at


def reason_of_hold(operator: Operator) -> str | None:
    return operator.state.hold.reason if operator.state.hold else None


def revisions(operator: Operator) -> tuple[str, str]:
    assert operator.state.stable is not None
    return operator.state.stable.revision, revision_of(operator.spec)


@pytest.mark.parametrize("step", ["canary-50", "bake"])
def test_a_replaced_pod_that_cannot_pull_its_image_is_waited_for(step: str) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step(step))
    _, v2 = revisions(operator)
    operator.world.lose_pods(v2, 1)
    operator.world.hinder_newest_pod(v2)
    operator.run(200)
    assert operator.state.stage is RolloutStage.STEPPING
    assert reason_of_hold(operator) == "CanaryUnavailable"
    operator.run(120, until=rolled_back)
    last = operator.state.last_attempt
    assert last is not None
    assert (last.cause, operator.state.failed) == ("CanaryUnavailable", ())
    assert "cannot pull its image" in last.message


@pytest.mark.parametrize(("step", "pods"), [("canary-5", 1), ("canary-50", 2), ("bake", 4)])
def test_a_canary_that_is_not_ready_for_a_moment_keeps_its_clock(step: str, pods: int) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step(step))
    started = clock_of(operator)
    operator.run(20)
    operator.world.blink(revisions(operator)[1], pods, 8)
    operator.run(2)
    assert reason_of_hold(operator) == "CanaryUnavailable"
    operator.run(10)
    assert (clock_of(operator), reason_of_hold(operator)) == (started, None)


def test_nothing_is_judged_while_it_is_not_clear_whether_pods_are_lost() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=at_step("canary-5"))
    operator.world.blink(revisions(operator)[1], 1, 10_000)
    operator.run(600, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "CanaryUnavailable"


def test_harm_is_found_though_pods_blink_now_and_then() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=at_step("canary-5"))
    for _ in range(20):
        if operator.state.candidate is None:
            break
        operator.world.blink(revisions(operator)[1], 1, 6)
        operator.run(15)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "ObjectiveFailed"


def test_a_canary_that_comes_and_goes_has_no_more_time_than_one_that_stays_away() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    began, (_, v2) = operator.world.now, revisions(operator)
    while operator.state.stage is RolloutStage.STEPPING:
        assert operator.world.now - began < timedelta(seconds=400), operator.story()
        operator.world.blink(v2, 1, 20)
        operator.run(50)
    operator.run(10)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "CanaryUnavailable"
    assert operator.state.failed == ()


def test_a_canary_that_stayed_for_long_gets_the_whole_time_again() -> None:
    steps = (STEPS[0], {"name": "canary-5", "canary": {"weight": 5, "for": "5m"}}, *STEPS[2:])
    spec = rollout_spec(V2, strategy=with_steps(*steps, deadline="60s"))
    operator = rolling_out(Behaviour(), spec).run(900, until=at_step("canary-5"))
    for _ in range(3):
        operator.world.blink(revisions(operator)[1], 1, 50)
        operator.run(150)
        assert operator.state.stage is RolloutStage.STEPPING
    operator.run(900, until=healthy)


def test_a_step_begun_anew_takes_no_longer_in_all() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-50"))
    candidate = operator.state.candidate
    assert candidate is not None
    assert candidate.step is not None
    entered = candidate.step.entered_at
    operator.world.lose_pods(candidate.revision, 1)
    operator.run(5)
    operator.run(60, until=at_step("canary-50"))
    after = operator.state.candidate
    assert after is not None
    assert after.step is not None
    assert after.step.entered_at == entered
    assert after.step.restarted_at is not None


def test_stable_that_lost_a_pod_holds_the_step_and_restarts_its_clock() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    started, (v1, _) = clock_of(operator), revisions(operator)
    operator.world.behaviours[v1] = Behaviour(starts_in=60)
    operator.world.lose_pods(v1, 1)
    operator.run(20)
    assert (clock_of(operator), reason_of_hold(operator)) == (None, "StableUndersized")
    assert "3 of 4 pods of stable are ready" in operator.message("Reconciling")
    operator.run(90, until=at_step("canary-25"))
    assert started is not None
    assert clock_of(operator) != started
    operator.run(900, until=healthy)


def test_a_stable_pod_that_restarted_restarts_the_clock_however_fast_it_was() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    started, (v1, _) = clock_of(operator), revisions(operator)
    operator.run(10)
    operator.world.behaviours[v1] = Behaviour(starts_in=2)
    operator.world.restart_pod(v1)
    operator.run(15)
    assert started is not None
    clock = clock_of(operator)
    assert clock is not None
    assert clock > started
    operator.run(900, until=healthy)


def test_a_stable_pod_that_blinks_keeps_the_clock() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    started, (v1, _) = clock_of(operator), revisions(operator)
    operator.world.blink(v1, 1, 6)
    operator.run(3)
    assert reason_of_hold(operator) == "StableUndersized"
    operator.run(15)
    assert (clock_of(operator), reason_of_hold(operator)) == (started, None)


def test_a_weak_stable_does_not_keep_harm_from_being_found() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=at_step("canary-5"))
    operator.run(15)
    operator.world.blink(revisions(operator)[0], 1, 9)
    operator.run(900, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "ObjectiveFailed"


def test_stable_that_stays_weak_needs_a_person_when_the_time_of_the_step_is_over() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    v1, _ = revisions(operator)
    operator.world.lose_pods(v1, 1)
    operator.world.hinder_newest_pod(v1)
    operator.run(1900)
    assert operator.condition("Stalled") == ("True", "StableUndersized")
    assert operator.state.stage is RolloutStage.STEPPING


def test_a_bake_goes_on_beside_a_stable_that_lacks_a_pod() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("bake"))
    v1, _ = revisions(operator)
    operator.world.lose_pods(v1, 1)
    operator.world.hinder_newest_pod(v1)
    operator.run(300, until=healthy)
