from __future__ import annotations

import math

import pytest

from chaffinch.domain.verdict.errors import Errors, Increase, ShareTest

LOG_1_PERCENT = math.log(0.01)
FIRST_PASS = math.log(0.025)


@pytest.mark.parametrize(
    ("failed", "requests", "over"),
    [
        (60, 1000, True),
        (5, 1000, False),
        (0, 0, False),
        (0, 1000, False),
        (1000, 1000, True),
        (12, 1000, True),
    ],
)
def test_a_share_is_over_its_limit_when_that_is_proven(failed: int, requests: int, over: bool) -> None:
    assert ShareTest(Errors(failed, requests), 0.005).over(LOG_1_PERCENT) is over


@pytest.mark.parametrize(
    ("failed", "requests", "under"),
    [
        (0, 1000, True),  # a flawless canary
        (0, 368, True),
        (0, 366, False),  # twice the limit is not ruled out yet
        (5, 1000, False),  # keeps the limit, but 1 % is possible
        (10, 4000, True),
        (24, 4000, False),  # over the limit, as measured
        (0, 0, False),
    ],
)
def test_a_share_is_under_its_limit_when_it_keeps_it_and_twice_as_much_is_ruled_out(
    failed: int, requests: int, under: bool
) -> None:
    assert ShareTest(Errors(failed, requests), 0.005).under(FIRST_PASS) is under


def test_a_limit_of_zero_can_be_passed_and_is_broken_by_one_failure() -> None:
    assert ShareTest(Errors(0, 3700), 0.0).under(FIRST_PASS)
    assert not ShareTest(Errors(0, 3000), 0.0).under(FIRST_PASS)
    assert ShareTest(Errors(1, 3700), 0.0).over(LOG_1_PERCENT)


def test_a_control_without_a_failure_is_a_number_and_one_without_a_request_is_none() -> None:
    bad = Errors(60, 1000)
    assert Increase(bad, Errors(0, 5000)).above(0.005, LOG_1_PERCENT)
    assert not Increase(bad, Errors(0, 0)).above(0.005, LOG_1_PERCENT)
    assert not Increase(bad, Errors(0, 0)).below(1.0, 0.0)
    assert not Increase(Errors(0, 0), Errors(0, 0)).below(1.0, 0.0)


def test_grave_harm_is_ruled_out_from_150_flawless_requests_on() -> None:
    assert Increase(Errors(0, 150), Errors(0, 2850)).below(0.03, FIRST_PASS)
    assert not Increase(Errors(5, 150), Errors(0, 2850)).below(0.03, FIRST_PASS)


def test_the_combined_bounds_are_wrong_less_often_than_promised() -> None:
    # Both shares 2 %: over all outcomes of 60 and 200 requests, the chance of a proven increase.
    def mass(k: int, n: int) -> float:
        return math.comb(n, k) * 0.02**k * 0.98 ** (n - k)

    wrong = sum(
        mass(a, 60) * mass(b, 200)
        for a in range(25)
        for b in range(30)
        if Increase(Errors(a, 60), Errors(b, 200)).above(0.0, math.log(0.05))
    )
    assert wrong <= 0.05


def test_the_interval_is_of_the_difference() -> None:
    low, high = Increase(Errors(60, 1000), Errors(5, 5000)).interval(LOG_1_PERCENT, LOG_1_PERCENT)
    assert low < 0.059 < high
    assert low > 0.03
