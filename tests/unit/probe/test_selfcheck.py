from __future__ import annotations

import asyncio
import math
import time

import pytest

from chaffinch.api.v1alpha1.probe import SelfCheck
from chaffinch.probe.selfcheck import Figures, mean_concurrency, sampling_lag, self_check

CASES = {
    "all is well": (Figures(0.002, 0.2, 3.9), 0.1, None),
    "a lag that is small beside a slow first token": (Figures(0.04, 0.2, 3.9), 0.5, None),
    "a lag that bends a fast first token": (
        Figures(0.04, 0.2, 3.9),
        0.1,
        "event loop lag P99 40.0 ms is over 10.0 ms",
    ),
    "any lag where nothing ever came": (Figures(0.04, 0.2, 3.9), math.inf, None),
    "a busy core": (Figures(0.002, 0.75, 3.9), 0.1, "CPU share 75% of a core is over 60%"),
    "requests that were late to start": (
        Figures(0.002, 0.2, 3.5),
        0.1,
        "mean concurrency 3.5 is under 90% of 4",
    ),
    "a stage too short to tell": (Figures(0.002, 0.2, None), 0.1, None),
}


@pytest.mark.parametrize(("figures", "ttft", "problem"), CASES.values(), ids=CASES)
def test_the_generator_is_believed_only_if_it_kept_up(
    figures: Figures, ttft: float, problem: str | None
) -> None:
    want = SelfCheck(passed=problem is None, problem=problem)
    assert self_check(figures, median_ttft_seconds=ttft, concurrency=4) == want


def test_mean_concurrency_is_littles_law_over_the_window() -> None:
    spans = [(0.0, 2.0), (1.0, 3.0), (2.5, 9.0), (-5.0, 0.5), (20.0, 30.0)]
    assert mean_concurrency(spans, 0.0, 4.0) == (2 + 2 + 1.5 + 0.5) / 4
    assert mean_concurrency(spans, 4.0, 4.0) is None


async def test_a_blocked_loop_shows_as_lag() -> None:
    async with sampling_lag() as lag:
        await asyncio.sleep(0.1)
        lag.p99_since_last()
        time.sleep(0.15)  # noqa: ASYNC251 - blocking the loop is the point
        await asyncio.sleep(0.05)
        assert lag.p99_since_last() > 0.1
        assert lag.p99_since_last() == 0.0, "each stage starts anew"
