"""Which events wake the loop of an object."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaffinch.runtime.wake import Wake

MINE, THEIRS = ("17", 3), ("18", 3)
AFTER_AN_EDIT = ("17", 4)
"""Our write, passed on in one with an edit of the spec that it came after."""

Happening = Callable[[Wake], None]


def event(version: tuple[str, int]) -> Happening:
    return lambda wake: wake.saw(version)


def write(wake: Wake) -> None:
    wake.wrote(MINE)


def other(wake: Wake) -> None:
    wake.set()


STORIES: dict[str, tuple[tuple[Happening, ...], bool]] = {
    "the event of our own write": ((write, event(MINE)), False),
    "the same, before the write has returned": ((event(MINE), write), False),
    "the same again, from another watch": ((write, event(MINE), event(MINE)), False),
    "somebody else's write": ((write, event(THEIRS)), True),
    "somebody else's write after ours": ((event(MINE), event(THEIRS), write), True),
    "ours after somebody else's": ((event(THEIRS), event(MINE), write), True),
    "ours, that hides an edit": ((write, event(AFTER_AN_EDIT)), True),
    "the same, before the write has returned ": ((event(AFTER_AN_EDIT), write), True),
    "ours, and an event of a child before": ((other, event(MINE), write), True),
    "ours, and an event of a child after": ((event(MINE), other, write), True),
    "an event when nothing was written": ((event(MINE),), True),
}


@pytest.mark.parametrize("name", STORIES)
def test_an_own_write_wakes_nobody_and_whatever_else_does(name: str) -> None:
    happenings, woken = STORIES[name]
    wake = Wake()
    for happening in happenings:
        happening(wake)
    assert wake.is_set() is woken


def test_a_pass_that_writes_nothing_keeps_in_mind_what_was_written_last() -> None:
    wake = Wake()
    wake.wrote(MINE)
    wake.clear()
    wake.saw(MINE)
    assert not wake.is_set()


def test_an_urgent_event_stays_urgent_whatever_was_written() -> None:
    wake = Wake()
    wake.saw(MINE)
    wake.set_at_once()
    wake.wrote(MINE)
    assert (wake.is_set(), wake.urgent.is_set()) == (True, True)
