from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.agent.split import effective_weights
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.routing.route import Arm

A, B, C = "aaaaaaaa", "bbbbbbbb", "cccccccc"


@pytest.mark.parametrize(
    ("asked", "alive", "want"),
    [
        pytest.param({A: 9_500, B: 500}, {A, B}, {A: 9_500, B: 500}, id="all arms are alive"),
        pytest.param({A: 9_500, B: 500}, {A}, {A: 10_000, B: 0}, id="the canary is gone"),
        pytest.param({A: 9_500, B: 500}, {B}, {A: 0, B: 10_000}, id="stable is gone"),
        pytest.param({A: 9_500, B: 500}, set(), {A: 9_500, B: 500}, id="nothing is left"),
        pytest.param({A: 0, B: 10_000}, {A}, {A: 10_000, B: 0}, id="the canary is gone with all traffic"),
        pytest.param({A: 0, B: 10_000}, set(), {A: 0, B: 10_000}, id="the canary is gone, and so is stable"),
        pytest.param(
            {A: 0, B: 4_000, C: 6_000},
            {A, B},
            {A: 0, B: 10_000, C: 0},
            id="stable has no weight and none to take",
        ),
        pytest.param({A: 10_000, B: 0}, {B}, {A: 10_000, B: 0}, id="stable is gone with all traffic"),
        pytest.param({A: 10_000, B: 0}, {A}, {A: 10_000, B: 0}, id="an arm without weight is gone"),
        pytest.param({A: 0, B: 0}, {A, B}, {A: 0, B: 0}, id="nothing shall serve"),
        pytest.param(
            {A: 3_333, B: 3_333, C: 3_334}, {A, B}, {A: 5_000, B: 5_000, C: 0}, id="proportions are kept"
        ),
        pytest.param({A: 1, B: 2, C: 9_997}, {A, B}, {A: 3_333, B: 6_667, C: 0}, id="thirds add up"),
        pytest.param({}, {A}, {}, id="no arms"),
    ],
)
def test_effective_weights_when(asked: dict[str, int], alive: set[str], want: dict[str, int]) -> None:
    assert effective_weights(_arms(asked), A, alive) == want


@pytest.mark.parametrize("stable", [None, C])
def test_there_is_no_falling_back_without_an_arm_of_stable(stable: str | None) -> None:
    assert effective_weights(_arms({A: 0, B: 10_000}), stable, {A, C}) == {A: 0, B: 10_000}


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=5), st.sets(st.integers(0, 4)))
def test_all_traffic_goes_somewhere_and_no_living_arm_loses(parts: list[int], alive: set[int]) -> None:
    names = [f"{position:08x}" for position in range(len(parts))]
    total = sum(parts)
    weights = [part * FULL_WEIGHT // total for part in parts]
    weights[0] += FULL_WEIGHT - sum(weights)
    asked = dict(zip(names, weights, strict=True))
    living = {names[position] for position in alive if position < len(names)}

    got = effective_weights(_arms(asked), None, living)

    assert sum(got.values()) == FULL_WEIGHT
    assert all(got[name] >= asked[name] for name in living)


def _arms(weights: dict[str, int]) -> tuple[Arm, ...]:
    return tuple(Arm(revision=revision, weight=weight) for revision, weight in weights.items())
