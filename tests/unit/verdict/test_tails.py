from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.domain.verdict import tails


def exact_hypergeometric_upper(x: int, marked: int, drawn: int, total: int) -> Fraction:
    ways = sum(comb(marked, k) * comb(total - marked, drawn - k) for k in range(x, min(marked, drawn) + 1))
    return Fraction(ways, comb(total, drawn))


def exact_binomial_upper(x: int, trials: int, share: Fraction) -> Fraction:
    return sum(
        (comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(x, trials + 1)), Fraction(0)
    )


@settings(deadline=None)
@given(st.data())
def test_hypergeometric_tails_equal_exact_fractions(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 60))
    marked = data.draw(st.integers(0, total))
    drawn = data.draw(st.integers(0, total))
    x = data.draw(st.integers(max(0, drawn - (total - marked)), min(drawn, marked)))
    upper = exact_hypergeometric_upper(x, marked, drawn, total)
    lower = 1 - exact_hypergeometric_upper(x + 1, marked, drawn, total)
    assert math.exp(tails.log_hypergeometric_upper(x, marked, drawn, total)) == pytest.approx(float(upper))
    assert math.exp(tails.log_hypergeometric_lower(x, marked, drawn, total)) == pytest.approx(float(lower))


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 99))
def test_binomial_tails_equal_exact_fractions(trials: int, x: int, percent: int) -> None:
    x = min(x, trials)
    share = Fraction(percent, 100)
    upper = exact_binomial_upper(x, trials, share)
    lower = 1 - exact_binomial_upper(x + 1, trials, share)
    assert math.exp(tails.log_binomial_upper(x, trials, percent / 100)) == pytest.approx(float(upper))
    assert math.exp(tails.log_binomial_lower(x, trials, percent / 100)) == pytest.approx(float(lower))


def test_a_probability_too_small_for_a_double_is_still_told() -> None:
    assert tails.log_binomial_upper(500, 500, 0.05) == pytest.approx(500 * math.log(0.05))
    everything = tails.log_hypergeometric_upper(2000, 2000, 2000, 4000)
    assert everything == pytest.approx(-math.log(comb(4000, 2000)), rel=1e-9)


def test_large_counts_are_summed_as_exactly_as_small_ones() -> None:
    # 75 of 1,000 where 5 % are allowed, and 130 of a pooled tail of 200: exact integer sums.
    binomial = exact_binomial_upper(75, 1000, Fraction(1, 20))
    assert tails.log_binomial_upper(75, 1000, 0.05) == pytest.approx(math.log(binomial), rel=1e-9)
    hypergeometric = exact_hypergeometric_upper(130, 2000, 200, 4000)
    assert tails.log_hypergeometric_upper(130, 2000, 200, 4000) == pytest.approx(
        math.log(hypergeometric), rel=1e-9
    )


@pytest.mark.parametrize("broken", [-math.inf, math.nan, math.inf])
def test_broken_arithmetic_is_no_evidence(broken: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "gammaln", lambda counts: counts * 0 + broken)
    with np.errstate(invalid="ignore"):
        assert tails.log_hypergeometric_upper(5, 10, 10, 20) == 0.0
        assert tails.log_binomial_upper(5, 10, 0.1) == 0.0


def test_a_share_of_zero_makes_any_failure_impossible_and_none_certain() -> None:
    assert tails.log_binomial_upper(1, 100, 0.0) == -math.inf
    assert tails.log_binomial_upper(0, 100, 0.0) == 0.0


@pytest.mark.parametrize(
    ("x", "trials", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 100, 0.0, 1 - 0.025 ** (1 / 100)),
        (100, 100, 0.025 ** (1 / 100), 1.0),
        # C. J. Clopper and E. S. Pearson's own example: 4 of 10 at 95 %.
        (4, 10, 0.12155, 0.73762),
    ],
)
def test_bounds_of_a_share_are_clopper_and_pearsons(x: int, trials: int, low: float, high: float) -> None:
    assert tails.share_at_least(x, trials, 0.025) == pytest.approx(low, abs=1e-5)
    assert tails.share_at_most(x, trials, 0.025) == pytest.approx(high, abs=1e-5)


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="11 of 10 cannot be among 20 of 30"):
        tails.log_hypergeometric_upper(11, 20, 10, 30)
    with pytest.raises(ValueError, match=r"5 of 4 at a share of 0\.1 cannot be"):
        tails.log_binomial_upper(5, 4, 0.1)
