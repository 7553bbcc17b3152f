from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaffinch.domain.machine.storming import with_next_try
from chaffinch.domain.machine.types import Next
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import CreationRefusal, Observation, Pod, RevisionSeen
from chaffinch.domain.pod_storms import capped, followed, kept_revisions, most_pods
from chaffinch.domain.state import PodStorm, RolloutState, StableRevision
from chaffinch.domain.timing import Timing
from unit.domain.states import DEPLOYING, FIRST, HEALTHY, NEW, OLD, PROMOTING, ROLLING_BACK, STEPPING

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TIMING = Timing(pods_turned_away=5, turned_away_within=60, turned_away_retry=60, moment=10)
REVISION = "0badcafe"
WANTED = 4


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def minutes(count: float) -> datetime:
    return NOW + timedelta(minutes=count)


def failed(count: int, age: float = 3) -> list[Pod]:
    pod = Pod("", "", ago(age), failed="UnexpectedAdmissionError")
    return [replace(pod, name=f"failed-{age}-{number}") for number in range(count)]


def running(count: int) -> list[Pod]:
    pod = Pod("", "", ago(900), ready=True, started=ago(890), accepted=True)
    return [replace(pod, name=f"runs-{number}") for number in range(count)]


def seen(*pods: list[Pod]) -> RevisionSeen:
    return RevisionSeen(REVISION, desired_replicas=WANTED, pods=tuple(pod for some in pods for pod in some))


def observed(children: RevisionSeen) -> Observation:
    """Return what is seen of a revision beside one that has its pods."""
    stable = RevisionSeen(OLD, desired_replicas=4, pods=tuple(running(4)))
    return Observation(RolloutIdentity("llm", "chat", "uid"), (children, stable))


def storm(again_in: float, tries: int = 0, turned_away: int = 8) -> PodStorm:
    return PodStorm(REVISION, ago(60), turned_away, tries, NOW + timedelta(seconds=again_in))


@pytest.mark.parametrize(
    ("before", "children", "want"),
    [
        (None, seen(), None),
        (None, seen(running(4)), None),
        (None, seen(running(3), failed(4)), None),
        (None, seen(running(3), failed(5)), PodStorm(REVISION, NOW, 5, 0, minutes(1))),
        (None, seen(failed(5, age=60)), PodStorm(REVISION, NOW, 5, 0, minutes(1))),
        (None, seen(failed(500, age=61)), None),
        (None, seen([replace(pod, terminating=True) for pod in failed(9)]), None),
        (storm(1), seen(failed(9)), storm(1)),
        (storm(1), seen(running(4)), storm(1)),
        (storm(-5), seen(failed(8, age=60)), storm(-5)),
        (storm(-5), seen(running(3), failed(1, age=5)), PodStorm(REVISION, ago(60), 9, 1, minutes(2))),
        (storm(-5, 1), seen(failed(2, age=4)), PodStorm(REVISION, ago(60), 10, 2, minutes(4))),
        (storm(-5, 5), seen(failed(1)), PodStorm(REVISION, ago(60), 9, 6, minutes(32))),
        (storm(-5, 9), seen(failed(1)), PodStorm(REVISION, ago(60), 9, 10, minutes(32))),
        (storm(-5), seen(running(3)), storm(-5)),
        (storm(-5), seen(running(4), failed(8, age=60)), None),
    ],
)
def test_a_storm_begins_goes_on_and_is_over(
    before: PodStorm | None, children: RevisionSeen, want: PodStorm | None
) -> None:
    assert followed(before, children, WANTED, NOW, TIMING) == want


YOUNG = Pod("young", "", ago(9))


@pytest.mark.parametrize(
    ("pod", "is_taken"),
    [
        (YOUNG, False),
        (replace(YOUNG, created=ago(10)), True),
        (replace(YOUNG, accepted=True), True),
        (replace(YOUNG, accepted=True, terminating=True), False),
        (replace(YOUNG, created=ago(900), failed="OutOfcpu"), False),
    ],
)
def test_as_many_pods_are_asked_for_as_nodes_have_taken_and_one_more_when_it_is_time(
    pod: Pod, is_taken: bool
) -> None:
    children = seen(running(2), [pod])
    assert most_pods(storm(1), children, NOW, TIMING) == 2 + is_taken
    assert most_pods(storm(0), children, NOW, TIMING) == 3 + is_taken


def test_only_what_storms_is_capped_and_never_beyond_what_is_wanted() -> None:
    observation = observed(seen(running(1)))
    state = RolloutState(storms=(storm(1),))
    assert capped({REVISION: 4, OLD: 4}, state, observation, NOW, TIMING) == {REVISION: 1, OLD: 4}
    assert capped({REVISION: 0}, state, observation, NOW, TIMING) == {REVISION: 0}
    assert capped({REVISION: 4}, RolloutState(), observation, NOW, TIMING) == {REVISION: 4}


WAITS_FOR_ROOM = replace(YOUNG, unschedulable=True)


@pytest.mark.parametrize(
    ("replicas", "pods", "want"),
    [
        (None, [], 1),
        (0, [], 1),
        (1, [], 1),
        (1, [YOUNG], 1),
        (1, failed(4), 1),
        (1, [replace(YOUNG, accepted=True, terminating=True)], 1),
        (1, [replace(WAITS_FOR_ROOM, terminating=True)], 1),
        (0, [replace(YOUNG, accepted=True)], 2),
        (1, [replace(YOUNG, accepted=True)], 2),
        (1, [replace(YOUNG, created=ago(10))], 2),
        (1, [WAITS_FOR_ROOM], 2),
        (1, [replace(WAITS_FOR_ROOM, created=ago(15))], 2),
        (1, [replace(WAITS_FOR_ROOM, failed="Evicted")], 1),
        (2, [replace(YOUNG, accepted=True), WAITS_FOR_ROOM], 3),
        (2, [replace(YOUNG, accepted=True), *failed(4)], 2),
        (2, [], 2),
        (4, [], 4),
        (4, failed(4), 4),
        (None, running(4), 4),
    ],
)
def test_a_revision_grows_by_one_pod_when_those_before_are_taken_or_wait_for_room(
    replicas: int | None, pods: list[Pod], want: int
) -> None:
    children = RevisionSeen(REVISION, desired_replicas=replicas, pods=tuple(pods))
    assert capped({REVISION: 4, OLD: 4}, RolloutState(), observed(children), NOW, TIMING) == {
        REVISION: want,
        OLD: 4,
    }
    assert capped({REVISION: 0}, RolloutState(), observed(children), NOW, TIMING) == {REVISION: 0}


def test_a_refusal_of_the_api_server_asks_for_no_more_at_once() -> None:
    refused = RevisionSeen(REVISION, desired_replicas=1, refused=CreationRefusal.QUOTA)
    assert capped({REVISION: 4}, RolloutState(), observed(refused), NOW, TIMING) == {REVISION: 1}


def test_stable_gets_back_a_lost_deployment_at_once() -> None:
    serving = RolloutState(stable=StableRevision(REVISION, ago(900)))
    for state, size in ((serving, 4), (RolloutState(), 1)):
        assert capped({REVISION: 4}, state, observed(RevisionSeen(REVISION)), NOW, TIMING) == {REVISION: size}


@pytest.mark.parametrize(
    ("storms", "want"), [((), 120), ((storm(60),), 60), ((storm(300), storm(7)), 7), ((storm(-5),), 120)]
)
def test_the_next_pass_is_no_later_than_the_next_try(storms: tuple[PodStorm, ...], want: float) -> None:
    following = Next(RolloutState(storms=storms), requeue_after=120)
    assert with_next_try(following, NOW).requeue_after == want


@pytest.mark.parametrize(
    ("state", "turned_away", "want"), [(ROLLING_BACK, 5, 1), (ROLLING_BACK, 4, 4), (DEPLOYING, 5, 4)]
)
def test_a_canary_that_is_out_as_nodes_turn_it_away_is_not_given_what_it_lacks(
    state: RolloutState, turned_away: int, want: int
) -> None:
    candidate = state.candidate
    assert candidate is not None
    state = replace(state, candidate=replace(candidate, started_at=ago(60)))
    children = replace(seen(running(1), failed(turned_away), [YOUNG]), revision=NEW)
    observation = observed(children)
    assert capped({NEW: 4, OLD: 4}, state, observation, NOW, TIMING) == {NEW: want, OLD: 4}


@pytest.mark.parametrize(
    ("state", "want"),
    [
        (RolloutState(), ()),
        (HEALTHY, (NEW,)),
        (FIRST, (NEW,)),
        (DEPLOYING, (OLD,)),
        (STEPPING, (OLD,)),
        (ROLLING_BACK, (OLD,)),
        (PROMOTING, (OLD, NEW)),
    ],
)
def test_a_canary_is_rolled_back_and_not_capped(state: RolloutState, want: tuple[str, ...]) -> None:
    assert kept_revisions(state) == want
