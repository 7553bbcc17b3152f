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


ASKED = {"aaaaaaaa": 9_500, "cccccccc": 500}


def given(sequence: int, *, epoch: int = 1, weights: dict[str, int] = ASKED) -> Acknowledgement:
    return Acknowledgement(epoch, sequence, weights)


def routed(*acknowledged: Acknowledgement | None, sequence: int = 7, ready: bool = True) -> Observation:
    stored = StoredRoute(1, sequence, "v1", route_intent(SPEC, STATE, SEEN))
    pods = tuple(RouterPod(f"r{i}", ready, each) for i, each in enumerate(acknowledged))
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
    order = route_order(SPEC, STATE, routed(given(7), given(6), None))
    assert (order.sequence, order.changed, order.resource_version) == (7, False, "v1")


@pytest.mark.parametrize(("stored", "acknowledged", "want"), [(7, given(9), 10), (7, None, 8), (2, None, 5)])
def test_a_new_route_gets_a_sequence_above_all_that_anyone_knows(
    stored: int, acknowledged: Acknowledgement | None, want: int
) -> None:
    changed = replace(STATE, candidate=replace(CANDIDATE, weight=2_500))
    assert route_order(SPEC, changed, routed(acknowledged, sequence=stored)).sequence == want


@pytest.mark.parametrize(
    ("newer", "sequence", "epoch"),
    [(given(9), 10, 1), (given(3, epoch=4), 8, 4)],
    ids=["a higher sequence", "a higher epoch"],
)
def test_a_stored_route_that_an_agent_refuses_is_written_anew_above_the_one_that_it_has(
    newer: Acknowledgement, sequence: int, epoch: int
) -> None:
    order = route_order(SPEC, STATE, routed(given(7), newer))
    assert (order.changed, order.sequence, order.epoch) == (True, sequence, epoch)


def test_a_route_that_was_deleted_is_made_anew_above_what_was_remembered() -> None:
    order = route_order(SPEC, STATE, SEEN)
    assert (order.sequence, order.changed, order.resource_version) == (5, True, None)


@pytest.mark.parametrize(
    ("seen", "want"),
    [
        pytest.param(routed(given(7), given(7)), True, id="all have it"),
        pytest.param(routed(given(7, weights={**ASKED, "bbbbbbbb": 0})), True, id="with an idle arm"),
        pytest.param(routed(given(7), given(8)), False, id="one has a newer one"),
        pytest.param(routed(given(7), given(7, epoch=2)), False, id="one has another epoch"),
        pytest.param(routed(given(7), given(6)), False, id="one has an older one"),
        pytest.param(routed(given(7), None), False, id="one does not answer"),
        pytest.param(
            routed(given(7), given(7, weights={"aaaaaaaa": 10_000, "cccccccc": 0})),
            False,
            id="one has dropped an arm",
        ),
        pytest.param(routed(), False, id="there is no router"),
        pytest.param(routed(given(7), ready=False), False, id="no router is ready"),
        pytest.param(SEEN, False, id="there is no route"),
    ],
)
def test_a_route_is_in_force_when_every_ready_router_says_so(seen: Observation, want: bool) -> None:
    assert is_in_force(SPEC, STATE, seen) is want


def test_a_route_of_another_content_is_not_in_force() -> None:
    other = replace(STATE, candidate=replace(CANDIDATE, weight=2_500))
    assert not is_in_force(SPEC, other, routed(given(7), given(7)))
