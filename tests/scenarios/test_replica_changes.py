"""Replicas change in mid-rollout, by an edit or by an autoscaler: who serves keeps what that takes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, in_stage, rolled_back, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import STEPS, V1, V2, rollout_spec, with_steps

PODS = 4
LONGEST = 1500
SIGN_OFF = "sign-off"
STRATEGY = with_steps(
    STEPS[0],
    {"name": "probe", "probe": {"profile": "smoke/v1"}},
    STEPS[2],
    {"name": SIGN_OFF, "approval": {}},
    *STEPS[3:],
)
V1_REVISION, V2_REVISION = (revision_of(rollout_spec(image)) for image in (V1, V2))
Reached = Callable[[Operator], bool]
PLACES: dict[str, Reached] = {
    "warm-up": lambda op: op.state.candidate is not None and op.state.candidate.warm_up is not None,
    "probe": at_step("probe"),
    "canary": at_step("canary-25"),
    "approval": at_step(SIGN_OFF),
    "half of the traffic": at_step("canary-50"),
    "bake": at_step("bake"),
    "promoting": in_stage(RolloutStage.PROMOTING),
    "rolling back": in_stage(RolloutStage.ROLLING_BACK),
}


def asking_for(replicas: int) -> InferenceRolloutSpec:
    return rollout_spec(V2, strategy=STRATEGY, replicas=replicas)


def scale(operator: Operator, replicas: int) -> None:
    """Change replicas as a write of ``/scale`` does: that field and the generation, and nothing else."""
    operator.edit(operator.spec.model_copy(update={"replicas": replicas}))


def approve(operator: Operator) -> None:
    if at_step(SIGN_OFF)(operator) and not operator.world.commands:
        operator.command("Approve", step=SIGN_OFF)


def run_to(operator: Operator, is_there: Reached) -> Operator:
    """Run until something is so, second by second; who has to approve does, if that is still to come."""
    for _ in range(LONGEST):
        operator.run(1)
        assert_capacity(operator)
        if is_there(operator):
            return operator
        approve(operator)
    raise AssertionError(operator.story())


def assert_capacity(operator: Operator) -> None:
    """Check that who has traffic has the pods for it: stable all, a canary as many as its share takes."""
    world = operator.world
    if world.in_force is None:
        return
    intent = world.in_force.intent
    needed = PODS if operator.state.candidate is not None else min(PODS, operator.spec.replicas)
    for arm in intent.arms:
        if arm.weight == 0:
            continue
        share = arm.weight / 10_000
        others = PODS if share > 0.5 else share / (1 - share) * PODS
        least = needed if arm.revision == intent.stable else min(needed, others)
        assert len(world.serving(arm.revision, arm.pods)) >= least, f"{arm} at {operator.state}"


def at_place(place: str) -> Operator:
    operator = rolling_out(Behaviour(), asking_for(PODS))
    if place == "rolling back":
        run_to(operator, PLACES["canary"])
        operator.command("Abort")
    return run_to(operator, PLACES[place])


def pods(operator: Operator) -> dict[str, int]:
    return {revision: count for revision, count in operator.world.replicas.items() if count}


@pytest.mark.parametrize("replicas", [6, 2], ids=["more", "fewer"])
@pytest.mark.parametrize("place", PLACES)
def test_replicas_changed_anywhere_take_nothing_from_who_serves_and_are_there_in_the_end(
    place: str, replicas: int
) -> None:
    operator = at_place(place)
    operator.edit(asking_for(replicas))
    is_out = place == "rolling back"
    run_to(operator, rolled_back if is_out else healthy)
    run_to(operator, lambda op: len(pods(op)) == 1)
    assert pods(operator) == {V1_REVISION if is_out else V2_REVISION: replicas}
    assert operator.state.attempts == 2
    assert_quiet(operator)


def test_more_replicas_in_a_step_are_added_to_both_revisions_before_it_goes_on() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-50"))
    operator.edit(rollout_spec(V2, replicas=6))
    operator.run(5)
    assert pods(operator) == {V1_REVISION: 6, V2_REVISION: 6}
    assert operator.state.hold is not None
    assert operator.state.hold.reason == "CanaryUnavailable"
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(V2_REVISION) == 5_000
    operator.run(60, until=at_step("canary-50"))


def test_fewer_replicas_wait_until_the_attempt_is_over() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    operator.edit(rollout_spec(V2, replicas=2))
    operator.run(900, until=at_step("bake"))
    assert pods(operator) == {V1_REVISION: 4, V2_REVISION: 4}
    operator.run(300, until=healthy)
    assert pods(operator) == {V2_REVISION: 2}


@pytest.mark.parametrize("place", ["canary", "bake"])
def test_a_change_through_the_scale_subresource_is_the_same_as_an_edit(place: str) -> None:
    scaled, edited = at_place(place), at_place(place)
    scale(scaled, 6)
    edited.edit(asking_for(6))
    for operator in (scaled, edited):
        run_to(operator, healthy)
    assert scaled.log == edited.log
    assert scaled.state == edited.state


def test_an_autoscaler_that_changes_replicas_all_the_time_starts_and_ends_no_attempt() -> None:
    operator = serving_v1()
    for replicas in (5, 6, 5, 4):
        scale(operator, replicas)
        operator.run(60, until=healthy)
        assert pods(operator) == {V1_REVISION: replicas}
    assert operator.state.attempts == 1
    operator = at_place("probe")
    for replicas in cycle((5, 6, 5, 4)):
        scale(operator, replicas)
        for _ in range(20):
            approve(operator)
            operator.run(1)
            assert_capacity(operator)
        if operator.state.candidate is None:
            break
    assert operator.state.attempts == 2
    run_to(operator, healthy)
    assert pods(operator) == {V2_REVISION: operator.spec.replicas}
