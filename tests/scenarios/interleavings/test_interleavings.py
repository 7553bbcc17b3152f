"""All events in all stages: what six of them can lead to breaks no law, and always comes to rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

import pytest

from chaffinch.api.v1alpha1.command import CommandAction
from chaffinch.api.v1alpha1.rollout import OnFailure
from chaffinch.api.v1alpha1.status import RolloutStage
from scenarios.interleavings.events import (
    CANARY_CRASHES,
    CANARY_LOST,
    COMMANDS,
    EVENTS,
    FAILS,
    FOLLOW,
    PASS,
    READY,
    ROUTE_EDITED,
    SILENCE,
    SPEC,
    STABLE_LOST,
    STATUS_LOST,
    TIME,
    TIME_PASSES,
    Event,
)
from scenarios.interleavings.exploring import Exploration, after
from scenarios.interleavings.model import Size, World, known_revision_of

ABORT, PROMOTE, APPROVE, PAUSE, RESUME, RETRY = CommandAction

NARROW = Size(1, approval=True, half=False)
PAUSING = replace(NARROW, on_failure=OnFailure.PAUSE)
WIDE = Size(2, approval=True, half=True)

SERVING = (PASS, READY, PASS, FOLLOW, PASS)
DEPLOYING = (*SERVING, SPEC[2])
CANARY = (*DEPLOYING, READY, PASS, PASS, FOLLOW, PASS)
SIGN_OFF = (*CANARY, TIME_PASSES, PASS, PASS, FOLLOW)
APPROVED = (*SIGN_OFF, COMMANDS[APPROVE])
LAST_STEP = (*APPROVED, READY, PASS, PASS, FOLLOW, PASS)
PROMOTING = (*CANARY, COMMANDS[PROMOTE])
PAUSED = (*CANARY, COMMANDS[PAUSE])
FAILED = (*CANARY, FAILS)
ENDED = (*FAILED, FOLLOW, PASS)

STARTS: dict[str, tuple[Event, ...]] = {
    "nothing": (),
    "the first revision": (PASS,),
    "serving": SERVING,
    "deploying": DEPLOYING,
    "canary": CANARY,
    "approval": SIGN_OFF,
    "approved": APPROVED,
    "the step after the approval": LAST_STEP,
    "promoting": PROMOTING,
    "paused": PAUSED,
    "failed": FAILED,
    "rolled back": ENDED,
}
STAGES = {
    "nothing": "Idle None 0",
    "the first revision": "Deploying None 0",
    "serving": "Idle None 0",
    "deploying": "Deploying None 0",
    "canary": "Stepping 0 2500",
    "approval": "Stepping 1 2500",
    "approved": "Stepping 1 2500",
    "the step after the approval": "Stepping 2 10000",
    "promoting": "Promoting 0 2500",
    "paused": "Stepping 0 2500",
    "failed": "RollingBack 0 0",
    "rolled back": "Idle None 0",
}


def world_after(events: Sequence[Event], size: Size) -> World:
    world = World(size)
    for event in events:
        world = after(world, event)
    return world


@pytest.mark.parametrize("name", STARTS)
def test_every_stage_is_where_an_exploration_starts(name: str) -> None:
    state = world_after(STARTS[name], NARROW).state
    candidate = state.candidate
    index = candidate.step.index if candidate is not None and candidate.step is not None else None
    assert f"{state.stage} {index} {candidate.weight if candidate else 0}" == STAGES[name]


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("chaffinch.domain.machine.step", "chaffinch.domain.desired"):
        monkeypatch.setattr(import_module(module), "revision_of", known_revision_of)


def explored(size: Size, events: Sequence[Event], depth: int) -> Exploration:
    exploration = Exploration()
    starts = [world_after(each, size) for each in STARTS.values()]
    exploration.run(starts, events, depth)
    return exploration


PROGRESS = (PASS, TIME, READY, FOLLOW, TIME_PASSES, FAILS)
THEMES: dict[str, tuple[Size, Sequence[Event]]] = {
    "pods": (NARROW, (*PROGRESS, CANARY_LOST, STABLE_LOST)),
    "routers and crashes": (NARROW, (*PROGRESS, SILENCE, CANARY_CRASHES)),
    "ends that people ask for": (NARROW, (*PROGRESS, *(COMMANDS[each] for each in (ABORT, PROMOTE, RETRY)))),
    "stops that people ask for": (
        PAUSING,
        (*PROGRESS, *(COMMANDS[each] for each in (PAUSE, RESUME, APPROVE))),
    ),
    "edits": (NARROW, (*PROGRESS, SPEC[1], SPEC[3])),
    "edits of the route": (
        NARROW,
        (PASS, TIME, READY, FOLLOW, TIME_PASSES, ROUTE_EDITED, COMMANDS[RETRY]),
    ),
    "lost status": (NARROW, (*PROGRESS, STATUS_LOST, SPEC[1])),
}
"""What is mixed with the usual course of things, six events deep; all of it at once goes less deep."""


@pytest.mark.parametrize("theme", THEMES)
def test_six_events_in_any_stage_break_no_law_and_come_to_rest(theme: str) -> None:
    size, events = THEMES[theme]
    assert len(explored(size, events, 6).seen) > 500


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["one pod", "two pods"])
def test_all_events_at_once_break_no_law_and_come_to_rest(size: Size) -> None:
    assert len(explored(size, EVENTS, 2).seen) > 1_000


@pytest.mark.parametrize(
    ("stage", "check", "theme", "law"),
    [
        (RolloutStage.DEPLOYING, "it_is_paused", "stops that people ask for", "a step is entered in a pause"),
        (RolloutStage.STEPPING, "nothing_could_take_over", "pods", "cannot answer"),
        (RolloutStage.STEPPING, "a_person_is_waited_for", "pods", "an approval step passes by itself"),
        (RolloutStage.STEPPING, "the_verdict_is_fail", "pods", "a verdict is lost"),
        (RolloutStage.PROMOTING, "pods_are_missing", "pods", "cannot answer"),
        (
            RolloutStage.PROMOTING,
            "routers_have_not_acknowledged",
            "pods",
            "what has all traffic becomes stable",
        ),
        (RolloutStage.IDLE, "stable_is_what_the_spec_asks_for", "edits", "what serves is tried"),
    ],
)
def test_without_one_of_its_checks_the_machine_breaks_a_law(
    monkeypatch: pytest.MonkeyPatch, stage: RolloutStage, check: str, theme: str, law: str
) -> None:
    stages = import_module("chaffinch.domain.machine.step").STAGES
    others = tuple(each for each in stages[stage] if each.__name__ != check)
    assert len(others) == len(stages[stage]) - 1
    monkeypatch.setitem(stages, stage, others)
    with pytest.raises(AssertionError, match=law):
        explored(*THEMES[theme], 6)


@pytest.mark.full
@pytest.mark.parametrize("theme", THEMES)
def test_eight_events_in_any_stage_break_no_law_and_come_to_rest(theme: str) -> None:
    explored(*THEMES[theme], 8)


@pytest.mark.full
@pytest.mark.parametrize("size", [NARROW, PAUSING, WIDE], ids=["one pod", "pausing", "two pods"])
def test_four_of_all_events_break_no_law_and_come_to_rest(size: Size) -> None:
    explored(size, EVENTS, 4)
