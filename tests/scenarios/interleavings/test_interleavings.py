"""All events in all stages: what some of them can lead to breaks no law, and always comes to rest."""

from __future__ import annotations

import pytest

from scenarios.interleavings.exploring import Mix
from scenarios.interleavings.model import Size
from scenarios.interleavings.starts import LOADING, NARROW, PAUSING, WIDE, starts_of, world_after
from scenarios.interleavings.themes import ANY, THEMES, any_of, explored

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
STAGES_OF_TWO_PODS = STAGES | {"the step after the approval": "Stepping 2 5000"}
STAGES_WITH_LOADS = {
    "nothing": "Idle None 0",
    "serving": "Idle None 0",
    "warming up": "Deploying None 0",
    "probing": "Stepping 1 0",
    "canary": "Stepping 2 2500",
    "promoting": "Promoting 2 2500",
}


@pytest.mark.parametrize(
    ("size", "stages"),
    [(NARROW, STAGES), (WIDE, STAGES_OF_TWO_PODS), (LOADING, STAGES_WITH_LOADS)],
    ids=["one pod", "two pods", "with load"],
)
def test_every_stage_is_where_an_exploration_starts(size: Size, stages: dict[str, str]) -> None:
    found = {}
    for name, events in starts_of(size).items():
        state = world_after(events, size).state
        candidate = state.candidate
        index = candidate.step.index if candidate is not None and candidate.step is not None else None
        found[name] = f"{state.stage} {index} {candidate.weight if candidate else 0}"
    assert found == stages


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_mixed_in_any_stage_breaks_no_law_and_comes_to_rest(theme: str) -> None:
    size, depth, events = THEMES[theme]
    assert len(explored(size, Mix(events), depth).seen) > 500


def test_any_one_disturbance_among_six_events_breaks_no_law_and_comes_to_rest() -> None:
    assert len(explored(NARROW, any_of(1), 6).seen) > 9_000


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["one pod", "two pods"])
def test_all_events_at_once_break_no_law_and_come_to_rest(size: Size) -> None:
    assert len(explored(size, ANY, 2).seen) > 1_000


@pytest.mark.full
@pytest.mark.parametrize("theme", THEMES)
def test_two_more_events_of_each_mix_break_no_law_and_come_to_rest(theme: str) -> None:
    size, depth, events = THEMES[theme]
    explored(size, Mix(events), depth + 2)


@pytest.mark.full
@pytest.mark.parametrize("size", [NARROW, PAUSING, WIDE], ids=["one pod", "pausing", "two pods"])
def test_any_two_disturbances_among_six_events_break_no_law_and_come_to_rest(size: Size) -> None:
    explored(size, any_of(2), 6)


@pytest.mark.full
@pytest.mark.parametrize("size", [NARROW, PAUSING, WIDE], ids=["one pod", "pausing", "two pods"])
def test_three_of_all_events_break_no_law_and_come_to_rest(size: Size) -> None:
    explored(size, ANY, 3)
