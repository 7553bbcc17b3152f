from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.domain.verdict.looks import floor_of, log_alpha, next_look


def test_a_gate_needs_150_requests_and_a_p99_662() -> None:
    assert [floor_of(quantile) for quantile in (None, 0.5, 0.9, 0.95, 0.99)] == [150, 150, 150, 150, 662]


def test_looks_grow_by_half_from_the_floor() -> None:
    counts, at = [], 0
    for _ in range(6):
        at = next_look(150, at)
        counts.append(at)
    assert counts == [150, 225, 338, 507, 760, 1140]


@pytest.mark.parametrize(
    ("looked_at", "following"), [(0, 150), (149, 150), (150, 225), (224, 225), (3000, 3845)]
)
def test_the_next_look_is_the_first_count_beyond_the_last(looked_at: int, following: int) -> None:
    assert next_look(150, looked_at) == following


@settings(deadline=None)
@given(st.integers(1, 10**9))
def test_the_next_look_always_lies_ahead_and_never_more_than_half(looked_at: int) -> None:
    assert looked_at < next_look(150, looked_at) <= max(150, math.ceil(looked_at * 1.5) + 1)


def test_all_looks_together_spend_less_than_alpha() -> None:
    spent = sum(math.exp(log_alpha(0.01, looks)) for looks in range(60))
    assert spent <= 0.01 + 1e-12
    assert math.exp(log_alpha(0.01, 0)) == pytest.approx(0.005)
