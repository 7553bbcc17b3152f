"""The stages of a rollout that explorations start from, and how to get there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chaffinch.api.v1alpha1.command import CommandAction
from chaffinch.api.v1alpha1.rollout import OnFailure
from scenarios.interleavings.events import (
    COMMANDS,
    FAILS,
    FOLLOW,
    LOAD_PASSES,
    PASS,
    READY,
    SPEC,
    TIME_PASSES,
    Event,
)
from scenarios.interleavings.exploring import after
from scenarios.interleavings.model import Size, World

NARROW = Size(1, approval=True, half=False)
PAUSING = replace(NARROW, on_failure=OnFailure.PAUSE)
WIDE = Size(2, approval=True, half=True)
LOADING = Size(1, approval=False, half=False, loads=True)

# One pod is asked for after the other.
_SERVING = (*[PASS] * WIDE.pods, READY, PASS, FOLLOW, PASS)
_DEPLOYING = (*_SERVING, SPEC[2])
_CANARY = (*_DEPLOYING, READY, PASS, PASS, FOLLOW, PASS)
_SIGN_OFF = (*_CANARY, TIME_PASSES, PASS, PASS, FOLLOW)
_APPROVED = (*_SIGN_OFF, COMMANDS[CommandAction.APPROVE])
_FAILED = (*_CANARY, FAILS)
STARTS: dict[str, tuple[Event, ...]] = {
    "nothing": (),
    "the first revision": (PASS,),
    "serving": _SERVING,
    "deploying": _DEPLOYING,
    "canary": _CANARY,
    "approval": _SIGN_OFF,
    "approved": _APPROVED,
    "the step after the approval": (*_APPROVED, READY, PASS, PASS, FOLLOW, PASS),
    "promoting": (*_CANARY, COMMANDS[CommandAction.PROMOTE]),
    "paused": (*_CANARY, COMMANDS[CommandAction.PAUSE]),
    "failed": _FAILED,
    "rolled back": (*_FAILED, FOLLOW, PASS),
}

_WARM = (READY, PASS, LOAD_PASSES, PASS, FOLLOW, PASS)
_WARMING = (PASS, *_WARM, SPEC[2], READY, PASS)
_PROBING = (*_WARMING, LOAD_PASSES, PASS, FOLLOW, PASS)
_PROBED = (*_PROBING, LOAD_PASSES, FOLLOW, PASS)
STARTS_WITH_LOADS: dict[str, tuple[Event, ...]] = {
    "nothing": (),
    "serving": (PASS, *_WARM),
    "warming up": _WARMING,
    "probing": _PROBING,
    "canary": _PROBED,
    "promoting": (*_PROBED, COMMANDS[CommandAction.PROMOTE]),
}


def starts_of(size: Size) -> dict[str, tuple[Event, ...]]:
    """Return what explorations of a size start from, each with the events that lead there."""
    return STARTS_WITH_LOADS if size.loads else STARTS


def world_after(events: Sequence[Event], size: Size) -> World:
    """Return what events lead to."""
    world = World(size, size.pods)
    for event in events:
        world = after(world, event)
    return world
