"""While the API server is in trouble nothing moves and nobody storms it; then the rollout goes on.

Two short troubles come one after the other. The others last long and cost no more than waiting, so they are
played side by side, each with an operator of its own: all of them take little longer than the longest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

import pytest

from chaffinch.adapters.cluster import FIELD_MANAGER, Limits
from crash.playground import Playground
from crash.scene import EVERY_WRITE, EVERYTHING, in_mid_step, place_of, rolling_out
from faultproxy import Answer, Calls, CutBefore, Delay, Expire, Mute, Replay
from faultproxy.rules import Fault

RECOVERY_SECONDS = 30
CALLS_PER_MINUTE = 20
SHORT_SECONDS, LONG_SECONDS = 8, 100
AWAY_SECONDS = 20
MUTE_SECONDS = 20
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


def watches_that_tell_nothing(playground: Playground, title: str, *, fault: Fault) -> None:
    """A rollout begins that no watch tells of."""
    with rolling_out(playground, title, fault) as scene:
        time.sleep(MUTE_SECONDS)
        scene.proxy.script.clear()
        playground.background.run(scene.proxy.cut())
        before, ended = place_of(playground.rollout(scene.namespace)), time.monotonic()
        playground.until(scene.namespace, lambda found: place_of(found) != before, "going on")
        recovery = time.monotonic() - ended
        scene.tell(f"{MUTE_SECONDS} s of it: it went on {recovery:.1f} s after the watches did")
        assert recovery <= RECOVERY_SECONDS
        scene.goes_on_to_its_end()


def watches_that_tell_wrong(playground: Playground, title: str, *, fault: Fault) -> None:
    """A rollout of which watches tell old things, or end at once, all the time."""
    with rolling_out(playground, title, fault) as scene:
        began = time.monotonic()
        scene.goes_on_to_its_end()
        entries = scene.proxy.journal.entries
        assert any(one.fault for one in entries), "no watch met the fault"
        calls = [one for one in entries if one.at >= began and one.agent != FIELD_MANAGER]
        scene.tell(f"{len(calls)} calls of the watch engine in {time.monotonic() - began:.0f} s")


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
    "away": nobody_there,
    "409 for a moment": partial(a_short_trouble, calls=EVERY_WRITE, fault=CONFLICT),
    "429 for a moment": partial(a_short_trouble, calls=EVERYTHING, fault=TOO_MANY),
    "watches cut": partial(watches_that_tell_nothing, fault=CutBefore()),
    "watches stale": partial(watches_that_tell_wrong, fault=Replay()),
    "watches 410": partial(watches_that_tell_wrong, fault=Expire()),
}
"""What is played side by side, the longest first."""
SIDE_BY_SIDE = 10
"""How many at a time: those that wait cost next to nothing, those that begin or end take turns so."""


def test_a_short_trouble_is_waited_out(playground: Playground) -> None:
    a_short_trouble(playground, "503 for a moment", calls=EVERYTHING, fault=UNAVAILABLE)


def test_a_rollout_goes_on_when_watches_that_told_nothing_tell_again(playground: Playground) -> None:
    watches_that_tell_nothing(playground, "watches mute", fault=Mute())


@pytest.fixture(scope="module")
def played(playground: Playground) -> Mapping[str, Future[None]]:
    """What came of each scene, when all have been played."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as stages:
        return {title: stages.submit(ordeal, playground, title) for title, ordeal in ORDEALS.items()}


@pytest.mark.full
@pytest.mark.parametrize("title", ORDEALS)
def test_no_trouble_moves_a_rollout_or_causes_a_storm(played: Mapping[str, Future[None]], title: str) -> None:
    played[title].result()
