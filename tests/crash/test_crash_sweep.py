"""Wherever the operator is killed, its rollout comes to the same end, and nothing is made twice."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from crash.playground import Playground
from crash.sweep import TRIES, Cut, CutPoint, Ending, Reference, Result, references, sweep, unreached

# A point of each kind where a second process could do something again, or not at all.
SAMPLE = (
    (Ending.PROMOTED, "patch inferencerollouts/status", 1, Cut.BEFORE_SEND),
    (Ending.PROMOTED, "create jobs", 1, Cut.AFTER_APPLY),
    (Ending.PROMOTED, "update configmaps", 3, Cut.AFTER_APPLY),
    (Ending.PROMOTED, "delete loadprobes", 1, Cut.AFTER_REPLY),
    (Ending.ROLLED_BACK, "create loadprobes", 2, Cut.AFTER_APPLY),
    (Ending.ROLLED_BACK, "update configmaps", 4, Cut.AFTER_APPLY),
)


@pytest.fixture(scope="module")
def faultless(playground: Playground) -> dict[Ending, Reference]:
    """Both rollouts without faults."""
    return references(playground)


def test_a_rollout_ends_the_same_wherever_the_operator_is_killed(
    playground: Playground, faultless: dict[Ending, Reference]
) -> None:
    points = [
        CutPoint(ending, faultless[ending].number_of(write, occurrence), cut)
        for ending, write, occurrence, cut in SAMPLE
    ]
    assert_as_without_faults(sweep(playground, points, faultless), points)


@pytest.mark.full
def test_a_rollout_ends_the_same_at_every_write_that_the_operator_is_killed_at(
    playground: Playground, faultless: dict[Ending, Reference]
) -> None:
    points = [
        CutPoint(ending, number, cut)
        for ending, numbers in chosen({ending: len(faultless[ending].writes) for ending in Ending}).items()
        for number in numbers
        for cut in Cut
    ]
    results = sweep(playground, points, faultless)
    print(f"{len(points)} cut points, {len(points) - len(unreached(results))} of them reached")
    assert_as_without_faults(results, points)


def chosen(counts: Mapping[Ending, int]) -> dict[Ending, list[int]]:
    """Return at which writes to kill: all, or those that ``CRASH_WRITES`` names, such as ``6,17``."""
    everything = set(range(1, max(counts.values()) + 1))
    named = os.environ.get("CRASH_WRITES")
    numbers = everything if named is None else {int(number) for number in named.split(",")}
    assert numbers <= everything, f"there are {len(everything)} writes, and no others of {named}"
    return {ending: sorted(number for number in numbers if number <= counts[ending]) for ending in Ending}


def assert_as_without_faults(results: list[Result], points: list[CutPoint]) -> None:
    """Every write was killed at, and every kill was survived without a trace."""
    assert {result.point for result in results} == set(points)
    wrong = [f"{result.point}: {problem}" for result in results for problem in result.problems]
    wrong += [f"{point}: not reached in {TRIES} runs" for point in unreached(results)]
    assert not wrong, "\n".join(wrong)
