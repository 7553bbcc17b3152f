"""What is made of an empty status, by what the router's route says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, RolloutStage
from chaffinch.domain.machine import WriteOrder, step
from chaffinch.domain.observation import Observation, RouterSeen
from chaffinch.domain.route import RouteArm, RouteDecision, RouteIntent, StoredRoute
from chaffinch.domain.state import RolloutState
from unit.domain.states import NEW, NOW, OLD, SEEN, SPEC, pods

STABLE_ARM, CANARY_ARM = RouteArm(OLD, 9_500), RouteArm(NEW, 500, (f"{NEW}-0",))
GONE_ARM = RouteArm(NEW, 0, ())


def routed(*arms: RouteArm, stable: str | None = OLD, decision: RouteDecision | None = None) -> Observation:
    stored = StoredRoute(3, 9, "v9", RouteIntent(4, stable, arms, decision))
    return replace(SEEN, router=RouterSeen(route=stored))


def begun(seen: Observation) -> RolloutState:
    return step(SPEC, RolloutState(), seen, None, NOW).state


@pytest.mark.parametrize(
    ("seen", "stage", "stable", "cause"),
    [
        (routed(RouteArm(OLD, 10_000)), RolloutStage.IDLE, OLD, None),
        (routed(RouteArm(OLD, 10_000), GONE_ARM), RolloutStage.IDLE, OLD, None),
        (routed(STABLE_ARM, CANARY_ARM), RolloutStage.ROLLING_BACK, OLD, "Superseded"),
        (
            routed(STABLE_ARM, CANARY_ARM, decision=RouteDecision(DecisionKind.ROLLBACK, "CrashLoop", NOW)),
            RolloutStage.ROLLING_BACK,
            OLD,
            "CrashLoop",
        ),
        (
            routed(STABLE_ARM, CANARY_ARM, decision=RouteDecision(DecisionKind.PROMOTE, "AsExpected", NOW)),
            RolloutStage.PROMOTING,
            OLD,
            "AsExpected",
        ),
        (routed(CANARY_ARM, stable=None), RolloutStage.DEPLOYING, None, None),
    ],
)
def test_a_lost_status_is_rebuilt_from_the_route(
    seen: Observation, stage: RolloutStage, stable: str | None, cause: str | None
) -> None:
    state = begun(seen)
    decision = state.candidate.decision if state.candidate else None
    assert (state.stage, state.stable.revision if state.stable else None) == (stage, stable)
    assert (decision.cause if decision else None) == cause
    assert (state.attempts, state.sequence) == (4, 9)


def test_without_any_child_the_first_attempt_starts() -> None:
    state = begun(Observation(SEEN.rollout))
    assert (state.stage, state.attempts, state.stable) == (RolloutStage.DEPLOYING, 1, None)
    assert state.candidate is not None
    assert state.candidate.revision == NEW


@pytest.mark.parametrize("router", [RouterSeen(), RouterSeen(unreadable=True)])
def test_children_without_a_readable_route_are_left_alone(router: RouterSeen) -> None:
    decided = step(SPEC, RolloutState(), replace(SEEN, router=router), None, NOW)
    assert not decided.act
    assert decided.state.is_empty
    assert decided.state.hold is not None
    assert decided.state.hold.reason == "StatusLost"


@pytest.mark.parametrize(
    ("stable_pods", "acts"), [(0, False), (1, True)], ids=["stable has no pod", "stable has one"]
)
def test_a_candidate_that_alone_answers_keeps_its_traffic_though_the_status_is_lost(
    stable_pods: int, acts: bool
) -> None:
    seen = replace(routed(STABLE_ARM, CANARY_ARM), revisions=(pods(OLD, stable_pods), pods(NEW, 1)))
    decided = step(SPEC, RolloutState(), seen, None, NOW)
    assert (decided.act, decided.state.is_empty) == (acts, not acts)
    if not acts:
        assert decided.state.hold is not None
        assert decided.state.hold.reason == "NoReadyEndpoint"


def test_an_attempt_that_is_given_up_leaves_the_route_before_the_status_says_so() -> None:
    decided = step(SPEC, RolloutState(), routed(STABLE_ARM, CANARY_ARM), None, NOW)
    assert decided.order is WriteOrder.ROUTE_FIRST
