"""Which events are mixed, of what size the rollout is, and how deep that is explored."""

from __future__ import annotations

from collections.abc import Sequence

from chaffinch.api.v1alpha1.command import CommandAction
from scenarios.interleavings.events import (
    CANARY_CRASHES,
    CANARY_LOST,
    CANARY_POD_LOST,
    COMMANDS,
    COURSE,
    DISTURBANCES,
    EVENTS,
    FAILS,
    FEWER,
    LOAD_FAILS,
    LOAD_LOST,
    LOAD_PASSES,
    MORE,
    NAME_TAKEN,
    READS_FAIL,
    ROUTE_EDITED,
    SILENCE,
    SPEC,
    STABLE_LOST,
    STABLE_POD_LOST,
    STATUS_LOST,
    Event,
)
from scenarios.interleavings.exploring import Exploration, Mix
from scenarios.interleavings.model import Size
from scenarios.interleavings.starts import LOADING, NARROW, PAUSING, WIDE, starts_of, world_after

ABORT, PROMOTE, APPROVE, PAUSE, RESUME, RETRY = CommandAction
PROGRESS = (*COURSE, FAILS)
LOAD = (LOAD_PASSES, LOAD_FAILS, LOAD_LOST)
THEMES: dict[str, tuple[Size, int, Sequence[Event]]] = {
    "pods": (NARROW, 6, (*PROGRESS, CANARY_LOST, STABLE_LOST)),
    "some of several pods": (WIDE, 5, (*COURSE, CANARY_POD_LOST, STABLE_POD_LOST)),
    "routers and crashes": (NARROW, 6, (*PROGRESS, SILENCE, CANARY_CRASHES)),
    "ends that people ask for": (
        NARROW,
        6,
        (*PROGRESS, *(COMMANDS[each] for each in (ABORT, PROMOTE, RETRY))),
    ),
    "stops that people ask for": (
        PAUSING,
        6,
        (*PROGRESS, *(COMMANDS[each] for each in (PAUSE, RESUME, APPROVE))),
    ),
    "edits": (NARROW, 6, (*PROGRESS, SPEC[1], SPEC[3])),
    "edits of the route": (NARROW, 6, (*COURSE, ROUTE_EDITED, COMMANDS[RETRY])),
    "lost status": (NARROW, 6, (*PROGRESS, STATUS_LOST, SPEC[1])),
    "replicas": (WIDE, 5, (*COURSE, MORE, FEWER)),
    "nothing to decide from": (NARROW, 6, (*COURSE, READS_FAIL, NAME_TAKEN)),
    "load": (LOADING, 5, (*COURSE, *LOAD, CANARY_LOST)),
    "load and a lost status": (LOADING, 4, (*COURSE, *LOAD, CANARY_CRASHES, STATUS_LOST)),
}
"""What is mixed with the usual course of things, and how many events deep; in the full run two more."""
ANY = Mix(EVENTS)


def any_of(count: int) -> Mix:
    """Mix the usual course of things with so many disturbances, whichever they are."""
    return Mix(COURSE, DISTURBANCES, count)


def explored(size: Size, mix: Mix, depth: int) -> Exploration:
    """Return what a mix leads to, so many events deep, from all starts."""
    exploration = Exploration()
    exploration.run([world_after(events, size) for events in starts_of(size).values()], mix, depth)
    return exploration
