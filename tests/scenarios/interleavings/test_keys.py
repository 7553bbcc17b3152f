"""What makes no difference really makes none: else an exploration would leave out what it should visit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

import pytest

from scenarios.interleavings.events import EVENTS, FOLLOW, LOAD_PASSES, PASS, TIME_PASSES, Event
from scenarios.interleavings.exploring import after
from scenarios.interleavings.keys import key_of, told
from scenarios.interleavings.model import Size, World
from scenarios.interleavings.starts import LOADING, NARROW, WIDE, starts_of, world_after

COMPARED = 3
"""How many worlds that are taken for the same are compared with the first of them."""


def worlds_of(size: Size, events: tuple[Event, ...]) -> Iterator[World]:
    """Yield what any two events lead to, from all starts."""
    for start in starts_of(size).values():
        for first in events:
            world = after(world_after(start, size), first)
            for second in events:
                yield after(world, second)


def told_alike(size: Size, events: tuple[Event, ...]) -> Iterator[tuple[World, World]]:
    """Yield pairs of worlds between which no difference is made."""
    known: dict[Hashable, list[World]] = defaultdict(list)
    for world in worlds_of(size, events):
        alike = known[key_of(world)]
        if alike and len(alike) <= COMPARED:
            yield alike[0], world
        alike.append(world)


@pytest.mark.parametrize(
    "size",
    [NARROW, pytest.param(WIDE, marks=pytest.mark.full), pytest.param(LOADING, marks=pytest.mark.full)],
    ids=["one pod", "two pods", "load"],
)
def test_worlds_between_which_no_difference_is_made_go_on_alike(size: Size) -> None:
    compared = 0
    for one, other in told_alike(size, (*EVENTS, LOAD_PASSES) if size.loads else EVENTS):
        compared += 1
        for event in (PASS, TIME_PASSES, FOLLOW):
            same = key_of(after(one, event)) == key_of(after(other, event))
            assert same, f"after {event}:\n{told(one)}\n{told(other)}"
    assert compared > 500
