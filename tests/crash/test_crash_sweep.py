"""Wherever the operator is killed, its rollout comes to the same end, and nothing is made twice."""

from __future__ import annotations

import pytest

from crash.playground import Playground
from crash.sweep import Cut, CutPoint, Ending, Reference, Result, references, sweep

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
    results = sweep(playground, points, faultless)
    assert all(result.reached for result in results)
    assert_as_without_faults(results, points)


@pytest.mark.full
@pytest.mark.parametrize("cut", Cut)
@pytest.mark.parametrize("ending", Ending)
def test_a_rollout_ends_the_same_at_every_write_that_the_operator_is_killed_at(
    playground: Playground, faultless: dict[Ending, Reference], ending: Ending, cut: Cut
) -> None:
    numbers = range(1, len(faultless[ending].writes) + 1)
    points = [CutPoint(ending, number, cut) for number in numbers]
    results = sweep(playground, points, faultless)
    missed = [result.point.write for result in results if not result.reached]
    print(f"{ending}, {cut}: {len(points)} cut points, {len(points) - len(missed)} of them reached")
    # How often figures alone are written depends on the time that a rollout takes.
    assert all(number > 0.9 * len(numbers) for number in missed), f"not reached: writes {missed}"
    assert_as_without_faults(results, points)


def assert_as_without_faults(results: list[Result], points: list[CutPoint]) -> None:
    """Every kill was survived without a trace."""
    assert {result.point for result in results} == set(points)
    wrong = [f"{result.point}: {problem}" for result in results for problem in result.problems]
    assert not wrong, "\n".join(wrong)
