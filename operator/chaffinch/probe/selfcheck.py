"""Did the load generator itself keep up? If not, its latencies describe the wrong program.

Three questions per stage, each with a limit:

* Loop lag: a read waits for the event loop at most a small part of what it measures.
* CPU share: one thread that is busy most of the time queues its own work.
* Little's law, N = X * R: throughput times mean latency must give the concurrency that was asked for; what is
  missing was lost between two requests, in the generator.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chaffinch.api.v1alpha1.probe import SelfCheck

# Measured with tests/bench/probe_client.py, 128 streams and a TTFT of 100 ms: up to a lag P99 of 17 ms the
# TTFT P95 was at most 5 % off, from 22 ms on it was 20 % off and more. The lag's P95 tells too little: it
# stayed under 4 ms in all of these.
LAG_FLOOR_SECONDS = 0.010
LAG_SHARE_OF_TTFT = 0.1
MAX_CPU_SHARE = 0.6
MIN_CONCURRENCY_SHARE = 0.9

_SAMPLE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Figures:
    """What was observed of the generator during one stage.

    Attributes:
        lag_seconds: P99 of the event loop's lag.
        cpu_share: Share of one CPU core that the process used.
        mean_concurrency: Mean number of open requests while the stage was sending; None where the stage was
            too short for a steady state (fewer than three requests per client).
    """

    lag_seconds: float
    cpu_share: float
    mean_concurrency: float | None


def self_check(figures: Figures, *, median_ttft_seconds: float, concurrency: int) -> SelfCheck:
    """Decide whether the generator kept up; the first problem found is told.

    Args:
        figures: What was observed.
        median_ttft_seconds: The stage's median TTFT, to which the lag is compared; may be infinite.
        concurrency: The concurrency that the stage asked for.
    """
    lag_limit = max(LAG_FLOOR_SECONDS, min(median_ttft_seconds, 60.0) * LAG_SHARE_OF_TTFT)
    if figures.lag_seconds > lag_limit:
        return _failed(f"event loop lag P99 {_millis(figures.lag_seconds)} is over {_millis(lag_limit)}")
    if figures.cpu_share > MAX_CPU_SHARE:
        return _failed(f"CPU share {figures.cpu_share:.0%} of a core is over {MAX_CPU_SHARE:.0%}")
    mean = figures.mean_concurrency
    if mean is not None and mean < concurrency * MIN_CONCURRENCY_SHARE:
        return _failed(f"mean concurrency {mean:.1f} is under {MIN_CONCURRENCY_SHARE:.0%} of {concurrency}")
    return SelfCheck(passed=True)


def mean_concurrency(spans: Sequence[tuple[float, float]], start: float, stop: float) -> float | None:
    """Return the mean number of open requests between two moments, from the spans of the requests.

    Args:
        spans: Start and end of each request that was open at any time between the two.
        start: First moment, in seconds of the monotonic clock.
        stop: Last moment.

    Returns:
        The mean; None when no time lies between the two.
    """
    if stop <= start:
        return None
    return sum(max(0.0, min(end, stop) - max(begin, start)) for begin, end in spans) / (stop - start)


class LagSampler:
    """Keeps the lags of the event loop: how much later than asked it wakes a sleeper."""

    def __init__(self) -> None:
        self._lags: list[float] = []

    def p99_since_last(self) -> float:
        """Return the P99 of the lags since the last call, in seconds, and start anew."""
        lags, self._lags = sorted(self._lags), []
        return lags[(len(lags) * 99 - 1) // 100] if lags else 0.0

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            asked = time.monotonic() + _SAMPLE_SECONDS
            await asyncio.sleep(_SAMPLE_SECONDS)
            self._lags.append(max(0.0, time.monotonic() - asked))


@asynccontextmanager
async def sampling_lag() -> AsyncIterator[LagSampler]:
    """Sample the running event loop's lag inside the block."""
    sampler = LagSampler()
    task = asyncio.create_task(sampler.run())
    try:
        yield sampler
    finally:
        task.cancel()


def _failed(problem: str) -> SelfCheck:
    return SelfCheck(passed=False, problem=problem)


def _millis(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
