from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chaffinch.domain.intent import is_in_force, route_intent, route_order
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import (
    Acknowledgement,
    Observation,
    Pod,
    RevisionSeen,
    RouterPod,
    RouterSeen,
)
from chaffinch.domain.plan import plan_of
from chaffinch.domain.route import RouteArm, StoredRoute
from chaffinch.domain.state import Candidate, RolloutState, StableRevision, WarmPod
from unit.domain.revisions import edited

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SPEC = edited()
CANDIDATE = Candidate("cccccccc", 2, NOW, None, plan_of(SPEC), warmed=(WarmPod("c1", 0),), weight=500)
STATE = RolloutState(stable=StableRevision("aaaaaaaa", NOW), candidate=CANDIDATE, attempts=2, sequence=4)
SEEN = Observation(
    RolloutIdentity("llm", "chat", "uid"),
    revisions=(
        RevisionSeen("aaaaaaaa", pods=(Pod("a1", "u", NOW),)),
        RevisionSeen("bbbbbbbb", pods=(Pod("b1", "u", NOW, terminating=True),)),
        RevisionSeen("cccccccc", pods=(Pod("c1", "u", NOW), Pod("c2", "u", NOW))),
    ),
)


def routed(*acknowledged: int | None, sequence: int = 7, ready: bool = True) -> Observation:
    stored = StoredRoute(1, sequence, "v1", route_intent(SPEC, STATE, SEEN))
    pods = tuple(
        RouterPod(f"r{i}", ready, None if number is None else Acknowledgement(1, number, {}))
        for i, number in enumerate(acknowledged)
    )
    return replace(SEEN, router=RouterSeen(pods, stored))


def test_only_warm_pods_are_admitted_and_leaving_revisions_keep_an_empty_arm() -> None:
    assert route_intent(SPEC, STATE, SEEN).arms == (
        RouteArm("aaaaaaaa", 9_500, None),
        RouteArm("cccccccc", 500, ("c1",)),
        RouteArm("bbbbbbbb", 0, ()),
    )


def test_a_pod_whose_container_restarted_is_not_admitted_any_more() -> None:
    restarted = RevisionSeen("cccccccc", pods=(Pod("c1", "u", NOW, restarts=1),))
    seen = replace(SEEN, revisions=(restarted,))
    assert route_intent(SPEC, STATE, seen).arms[1] == RouteArm("cccccccc", 500, ())


def test_a_stored_route_with_the_same_content_keeps_its_sequence() -> None:
    order = route_order(SPEC, STATE, routed())
    assert (order.sequence, order.changed, order.resource_version) == (7, False, "v1")


@pytest.mark.parametrize(("stored", "acknowledged", "want"), [(7, 9, 10), (7, None, 8), (2, None, 5)])
def test_a_new_route_gets_a_sequence_above_all_that_anyone_knows(
    stored: int, acknowledged: int | None, want: int
) -> None:
    changed = replace(STATE, candidate=replace(CANDIDATE, weight=2_500))
    assert route_order(SPEC, changed, routed(acknowledged, sequence=stored)).sequence == want


def test_a_route_that_was_deleted_is_made_anew_above_what_was_remembered() -> None:
    order = route_order(SPEC, STATE, SEEN)
    assert (order.sequence, order.changed, order.resource_version) == (5, True, None)


@pytest.mark.parametrize(
    ("seen", "want"),
    [
        (routed(7, 7), True),
        (routed(7, 8), True),
        (routed(7, 6), False),
        (routed(7, None), False),
        (routed(), False),
        (routed(6, ready=False), False),
        (SEEN, False),
    ],
)
def test_a_route_is_in_force_when_every_ready_router_says_so(seen: Observation, want: bool) -> None:
    assert is_in_force(SPEC, STATE, seen) is want


def test_a_route_of_another_content_is_not_in_force() -> None:
    other = replace(STATE, candidate=replace(CANDIDATE, weight=2_500))
    assert not is_in_force(SPEC, other, routed(7, 7))
