"""While the API server is in trouble nothing moves and nobody storms it; then the rollout goes on.

Two short troubles, and the one that stops the whole cluster, come one after the other. The others last long
and cost no more than waiting, so they are played side by side, each with an operator of its own: all of them
take little longer than the longest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import TypeAlias

import pytest

from chaffinch.adapters.cluster import FIELD_MANAGER, Limits
from chaffinch.handlers.watching import LONGEST_SILENCE
from crash.playground import Playground
from crash.scene import EVERY_WRITE, EVERYTHING, QUICK, Scene, at_rest, in_mid_step, place_of
from faultproxy import Answer, Calls, CutBefore, Delay, Expire, Mute, Replay
from faultproxy.rules import Fault
from localcluster import Cluster, LocalCluster

RECOVERY_SECONDS = 30
CALLS_PER_MINUTE = 20
SHORT_SECONDS, LONG_SECONDS = 8, 100
AWAY_SECONDS = 20
MUTE_SECONDS = 20
LATE_BY_SECONDS = 5
"""How much later than it could something may happen on a machine that is busy."""
LATE_SECONDS = 15
"""Later than the operator waits for an answer."""

Ordeal: TypeAlias = Callable[[Playground, str], None]
"""Plays a scene of a title, and says what was wrong with it by an AssertionError."""


def a_short_trouble(playground: Playground, title: str, *, calls: Calls, fault: Fault) -> None:
    """Too short for the operator to know that it is no coincidence."""
    with in_mid_step(playground, title) as scene:
        assert scene.met_with(calls, fault, SHORT_SECONDS).recovery <= RECOVERY_SECONDS
        scene.goes_on_to_its_end()


def a_long_trouble(
    playground: Playground, title: str, *, calls: Calls, fault: Fault, recovery: float = RECOVERY_SECONDS
) -> None:
    """Long enough to see how often the operator asks in vain."""
    with in_mid_step(playground, title) as scene:
        trouble = scene.met_with(calls, fault, LONG_SECONDS)
        rate = trouble.calls_per_minute
        assert rate is not None, (
            f"too few passes in {LONG_SECONDS} s to say how many calls they make: {trouble}"
        )
        assert rate <= CALLS_PER_MINUTE
        assert trouble.recovery <= recovery
        scene.goes_on_to_its_end()


def nobody_there(playground: Playground, title: str) -> None:
    """The API server is away, and every connection to it breaks."""
    run = playground.background.run
    with in_mid_step(playground, title) as scene:
        away, back = scene.proxy.go_away, scene.proxy.come_back
        trouble = scene.troubled(lambda: run(away()), lambda: run(back()), AWAY_SECONDS)
        assert trouble.recovery <= RECOVERY_SECONDS
        scene.goes_on_to_its_end()


def watches_that_are_refused(playground: Playground, title: str) -> None:
    """A rollout begins while no watch can be had."""
    with at_rest(playground, title) as scene:
        scene.watches_meet(CutBefore())
        _begins_when_watches_tell(scene, scene.proxy.script.clear)


def watches_that_are_mute(playground: Playground, title: str) -> None:
    """A rollout begins that no watch tells of, until whatever kept them mute breaks their connections."""
    with at_rest(playground, title, QUICK) as scene:
        scene.watches_meet(Mute())
        scene.proxy.script.clear()
        _begins_when_watches_tell(scene, lambda: playground.background.run(scene.proxy.cut()))


def _begins_when_watches_tell(scene: Scene, end: Callable[[], object]) -> None:
    trouble = scene.troubled(scene.begins, end, MUTE_SECONDS)
    assert trouble.of_passes == [], "somebody but a watch told of the edit"
    assert trouble.recovery <= RECOVERY_SECONDS
    scene.goes_on_to_its_end()


def watches_that_nobody_ends(playground: Playground, title: str) -> None:
    """A rollout begins whose watches will be mute for ever, on connections that look alive; new ones tell."""
    with at_rest(playground, title) as scene:
        scene.watches_meet(Mute())
        scene.proxy.script.clear()
        before, edited = place_of(playground.rollout(scene.namespace)), time.monotonic()
        scene.begins()
        waited = scene.moves_on_from(before)
        of_rollouts = [one for one in scene.watches() if one.call.resource == "inferencerollouts"]
        dead, alive = of_rollouts[-2:]
        silence = alive.at - dead.at
        scene.tell(f"given up after {silence:.1f} s without a word; it went on {waited:.1f} s after the edit")
        assert (dead.fault, alive.fault) == ("Mute", "")
        assert scene.of_passes(edited)[0].at > alive.at, "somebody but a watch told of the edit"
        assert abs(silence - LONGEST_SILENCE) <= LATE_BY_SECONDS
        assert waited <= LONGEST_SILENCE + RECOVERY_SECONDS
        scene.goes_on_to_its_end()


def watches_with_nothing_to_tell(playground: Playground, title: str) -> None:
    """A rollout at rest: its watches live, as the API server's bookmarks say, and are not begun anew."""
    with at_rest(playground, title) as scene:
        began, before = time.monotonic(), len(scene.watches())
        time.sleep(LONGEST_SILENCE + LATE_BY_SECONDS)
        anew, calls = scene.watches()[before:], scene.of_passes(began)
        scene.tell(f"{len(anew)} of {before} watches begun anew, {len(calls)} calls of passes")
        assert (anew, calls) == ([], [])


def watches_that_tell_wrong(playground: Playground, title: str, *, fault: Fault) -> None:
    """A rollout of which watches tell old things, or end at once, all the time."""
    with at_rest(playground, title) as scene:
        scene.watches_meet(fault)
        before, began = place_of(playground.rollout(scene.namespace)), time.monotonic()
        scene.begins()
        waited = scene.moves_on_from(before)
        assert waited <= RECOVERY_SECONDS
        scene.goes_on_to_its_end()
        calls = [one for one in scene.proxy.journal.entries if one.at >= began]
        engine = sum(one.agent != FIELD_MANAGER for one in calls)
        scene.tell(
            f"it went on {waited:.1f} s after the edit; {engine} calls of the watch engine and"
            f" {len(calls) - engine} others in {time.monotonic() - began:.0f} s"
        )


CONFLICT = Answer(409, "Conflict")
TOO_MANY = Answer(429, "TooManyRequests", retry_after=1)
UNAVAILABLE = Answer(503, "ServiceUnavailable")

ORDEALS: Mapping[str, Ordeal] = {
    "409": partial(a_long_trouble, calls=EVERY_WRITE, fault=CONFLICT),
    "429": partial(a_long_trouble, calls=EVERYTHING, fault=TOO_MANY),
    "422": partial(a_long_trouble, calls=EVERY_WRITE, fault=Answer(422, "Invalid")),
    "500": partial(a_long_trouble, calls=EVERYTHING, fault=Answer(500, "InternalError")),
    "403": partial(a_long_trouble, calls=EVERYTHING, fault=Answer(403, "Forbidden")),
    "cut": partial(a_long_trouble, calls=EVERYTHING, fault=CutBefore()),
    "writes cut": partial(a_long_trouble, calls=EVERY_WRITE, fault=CutBefore()),
    "pods 503": partial(a_long_trouble, calls=Calls(resources=frozenset({"pods"})), fault=UNAVAILABLE),
    # A call that was under way when the trouble ended is waited for first.
    "late": partial(
        a_long_trouble,
        calls=EVERYTHING,
        fault=Delay(LATE_SECONDS),
        recovery=RECOVERY_SECONDS + Limits().request_timeout,
    ),
    "watches mute for ever": watches_that_nobody_ends,
    "watches at rest": watches_with_nothing_to_tell,
    "away": nobody_there,
    "409 for a moment": partial(a_short_trouble, calls=EVERY_WRITE, fault=CONFLICT),
    "429 for a moment": partial(a_short_trouble, calls=EVERYTHING, fault=TOO_MANY),
    "watches cut": watches_that_are_refused,
    "watches stale": partial(watches_that_tell_wrong, fault=Replay()),
    "watches 410": partial(watches_that_tell_wrong, fault=Expire()),
}
"""What is played side by side, the longest first."""
SIDE_BY_SIDE = 10
"""How many at a time: those that wait cost next to nothing, those that begin or end take turns so."""


def test_a_short_trouble_is_waited_out(playground: Playground) -> None:
    a_short_trouble(playground, "503 for a moment", calls=EVERYTHING, fault=UNAVAILABLE)


@pytest.mark.full
def test_a_rollout_begins_when_watches_that_told_nothing_tell_again(playground: Playground) -> None:
    watches_that_are_mute(playground, "watches mute")


@pytest.mark.full
def test_nothing_moves_while_the_store_of_the_api_server_sleeps(
    playground: Playground, cluster: Cluster
) -> None:
    assert isinstance(cluster, LocalCluster)
    with in_mid_step(playground, "etcd asleep") as scene, ExitStack() as asleep:
        trouble = scene.troubled(
            lambda: asleep.enter_context(cluster.asleep("etcd")), asleep.close, AWAY_SECONDS
        )
        assert trouble.recovery <= RECOVERY_SECONDS
        scene.goes_on_to_its_end()


@pytest.fixture(scope="module")
def played(playground: Playground) -> Mapping[str, Future[None]]:
    """What came of each scene, when all have been played."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as stages:
        return {title: stages.submit(ordeal, playground, title) for title, ordeal in ORDEALS.items()}


@pytest.mark.full
@pytest.mark.parametrize("title", ORDEALS)
def test_no_trouble_moves_a_rollout_or_causes_a_storm(played: Mapping[str, Future[None]], title: str) -> None:
    played[title].result()
