"""How soon a rollout at rest is looked at again, if nothing that is watched wakes it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain.intent import route_intent
from chaffinch.domain.machine import step
from chaffinch.domain.observation import Acknowledgement, CreationRefusal, Observation, RouterPod, RouterSeen
from chaffinch.domain.route import StoredRoute
from chaffinch.domain.state import PodStorm, RolloutState
from chaffinch.domain.timing import Timing
from unit.domain.states import FIGHT, HEALTHY, NEW, NOW, OLD, SEEN, SPEC, pods

TIMING = Timing()
FOUGHT_AT_REST = replace(HEALTHY, router_edits=FIGHT)


def seen(state: RolloutState, acknowledged: int = 9, *others: str) -> Observation:
    serving = replace(SEEN, revisions=(pods(NEW, 4), *(pods(each, 4) for each in others)))
    route = StoredRoute(1, 9, "v9", route_intent(SPEC, state, serving))
    router = RouterPod("r1", ready=True, acknowledgement=Acknowledgement(1, acknowledged, {NEW: FULL_WEIGHT}))
    return replace(serving, router=RouterSeen((router,), route=route))


def growing(*, refused: CreationRefusal | None = None) -> Observation:
    """Return what is seen of stable when its last pod has not been asked for yet."""
    smaller = replace(pods(NEW, 3), desired_replicas=3, refused=refused)
    return replace(seen(HEALTHY), revisions=(smaller,))


STORM = PodStorm(NEW, NOW, 8, 0, NOW + timedelta(seconds=60))


@pytest.mark.parametrize(
    ("state", "observation", "pause"),
    [
        (HEALTHY, seen(HEALTHY), TIMING.idle),
        (HEALTHY, seen(HEALTHY, 8), TIMING.active),
        (HEALTHY, seen(HEALTHY, 9, OLD), TIMING.active),
        (FOUGHT_AT_REST, seen(FOUGHT_AT_REST), TIMING.stalled),
        (HEALTHY, growing(), TIMING.active),
        (HEALTHY, growing(refused=CreationRefusal.QUOTA), TIMING.idle),
        (replace(HEALTHY, storms=(STORM,)), growing(), 60),
    ],
    ids=[
        "all is well",
        "a router has not acknowledged",
        "a revision is out",
        "somebody fights",
        "stable grows",
        "a quota keeps stable from growing",
        "nodes turn away what stable grows by",
    ],
)
def test_what_nobody_tells_is_looked_out_for(
    state: RolloutState, observation: Observation, pause: float
) -> None:
    assert step(SPEC, state, observation, None, NOW, timing=TIMING).requeue_after == pause


def test_the_pauses_of_a_rollout_keep_their_order_whatever_is_set() -> None:
    for active, idle in ((5, 600), (5, 7), (30, 40), (5, 5)):
        timing = Timing(active=active, idle=idle)
        assert active <= timing.measuring <= idle
        assert timing.stalled <= idle
