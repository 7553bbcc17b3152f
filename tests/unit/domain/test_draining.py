from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from chaffinch.api.v1alpha1.attempt_status import Outcome
from chaffinch.domain.draining import may_stop
from chaffinch.domain.observation import Acknowledgement, Observation, RouterPod, RouterSeen
from chaffinch.domain.route import RouteArm, RouteIntent, StoredRoute
from chaffinch.domain.state import LastAttempt, RolloutState, StableRevision
from chaffinch.domain.timing import Timing
from unit.domain.states import NEW, NOW, OLD, SEEN

TIMING = Timing(drain=300)
ENDED = LastAttempt(NEW, 2, Outcome.PROMOTED, "AsExpected", NOW)
STATE = RolloutState(stable=StableRevision(NEW, NOW), attempts=2, last_attempt=ENDED)


def routers(*open_of_old: int | None, silent: bool | None = None, weight: int = 0) -> Observation:
    """Return what is seen of routers with so many requests of the old revision (None: they cannot tell).

    ``silent`` adds one that does not answer and is Ready, or is not.
    """
    arms = (RouteArm(NEW, 10_000 - weight), RouteArm(OLD, weight))
    pods = [
        RouterPod(
            f"r{i}", ready=i == 0, acknowledgement=Acknowledgement(1, 7, {}, None if n is None else {OLD: n})
        )
        for i, n in enumerate(open_of_old)
    ]
    if silent is not None:
        pods.append(RouterPod("silent", ready=silent, acknowledgement=None))
    route = StoredRoute(1, 7, "v7", RouteIntent(2, NEW, arms, None))
    return replace(SEEN, router=RouterSeen(tuple(pods), route))


@pytest.mark.parametrize(
    ("seen", "want"),
    [
        pytest.param(routers(0, 0), True, id="nothing is under way"),
        pytest.param(routers(), True, id="there is no router"),
        pytest.param(routers(0, silent=False), True, id="a router has not begun"),
        pytest.param(routers(2, 0), False, id="requests are under way"),
        pytest.param(routers(0, 1), False, id="a router that ends has one"),
        pytest.param(routers(0, None), False, id="a router cannot tell"),
        pytest.param(routers(0, silent=True), False, id="a Ready router does not answer"),
    ],
)
def test_pods_of_a_revision_that_is_out_go_when_no_router_has_a_request_of_it(
    seen: Observation, want: bool
) -> None:
    assert may_stop(OLD, STATE, seen, NOW + timedelta(seconds=299), TIMING) is want
    assert may_stop(OLD, STATE, seen, NOW + timedelta(seconds=300), TIMING)


def test_no_patience_is_long_enough_to_stop_a_revision_with_weight() -> None:
    assert not may_stop(OLD, STATE, routers(0, weight=1), NOW + timedelta(days=1), TIMING)


def test_answers_are_waited_for_from_the_time_at_which_a_lost_status_was_restored() -> None:
    restored = replace(STATE, last_attempt=None)
    assert not may_stop(OLD, restored, routers(1), NOW + timedelta(seconds=299), TIMING)
    assert may_stop(OLD, restored, routers(1), NOW + timedelta(seconds=300), TIMING)
