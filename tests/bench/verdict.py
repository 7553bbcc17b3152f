"""How often the judge is right: many simulated steps, judged as the operator would judge them.

Each run is one step at 50 % of the traffic: latencies are lognormal (sigma 0.5), 10 requests per second
and arm, independent ("quiet"), and one in a thousand fails. The step asks for a Proven ``maxRegression``
of 5 % at P95 and for error limits, lasts 5 minutes at least, and waits up to 30. Two simple rules judge
the latencies of the same requests:

threshold   rolled back when the canary's P95 of a minute is above 105 % of stable's three minutes in a row
cumulative  rolled back when, at any minute, its P95 so far is above 105 % of stable's so far

Run it with ``python tests/bench/verdict.py [--runs 400] [--seed 1]`` and ``PYTHONPATH=operator``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from chaffinch.domain.evidence import ArmEvidence, Evidence, LatencyMetric
from chaffinch.domain.grid import BUCKET_COUNT, EDGES_SECONDS, Histogram
from chaffinch.domain.verdict import (
    Against,
    ErrorMetric,
    Gate,
    JudgeState,
    Kind,
    Level,
    Outcome,
    Plan,
    judge,
)
from chaffinch.domain.verdict.looks import FLOOR, next_look

RATE = 10  # requests per second and arm
SIGMA = 0.5
MEDIAN_SECONDS = 0.2
MINIMUM = timedelta(minutes=5)
LONGEST = timedelta(minutes=30)
PASS_EVERY = 5 * RATE  # the operator looks every five seconds
START = datetime(2026, 1, 1, tzinfo=UTC)
MOST = int(LONGEST.total_seconds()) * RATE
RATIOS = (1.0, 1.05, 1.08, 1.15, 1.3, 2.0)
BASE_ERRORS = 0.001
ERRORS = (0.02, 0.05, 0.2)
GATES = (
    Gate("ttft", LatencyMetric.TTFT, 0.95, Kind.REGRESSION, 1.05, Against.CONTROL),
    Gate("errors", ErrorMetric.ERROR_RATE, None, Kind.MAX, 0.005, Against.LIMIT),
    Gate("errors", ErrorMetric.ERROR_RATE, None, Kind.INCREASE, 0.005, Against.CONTROL),
)
PLAN = Plan(GATES, Level.PROVEN, START + MINIMUM, START + LONGEST)

Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one step: the first decision, and at how many requests per arm it fell."""

    outcome: Outcome
    requests: int
    threshold: bool
    cumulative: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, and print one row per true ratio and per true error rate."""
    parser = argparse.ArgumentParser(description="Simulate steps and count right and wrong verdicts.")
    parser.add_argument("--runs", type=int, default=400, help="runs per row (default 400)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generator (default 1)")
    options = parser.parse_args(arguments)
    print(f"{options.runs} runs per row, seed {options.seed}; n is requests per arm, at {RATE}/s")
    print(f"{'':10} | {'rolled back':^33} | {'promoted':^25} | {'simple rules: rolled back':^25}")
    columns = "by 2,000 by 8,000      all  median n |      all by 8,000 median n | threshold  cumulative"
    print(f"{'canary':10} | {columns}")
    for ratio in RATIOS:
        generator = np.random.default_rng([options.seed, round(ratio * 100)])
        runs = [simulate(generator, ratio, BASE_ERRORS) for _ in range(options.runs)]
        print(row(f"{100 * ratio - 100:+.0f} % P95", runs), flush=True)
    for errors in ERRORS:
        generator = np.random.default_rng([options.seed, round(errors * 1000), 0])
        runs = [simulate(generator, 1.0, errors) for _ in range(options.runs)]
        print(row(f"{100 * errors:.1f} % err", runs), flush=True)
    return 0


def simulate(generator: np.random.Generator, ratio: float, errors: float) -> Run:
    """Play one step with a canary that is ``ratio`` times as slow as stable and fails so often."""
    canary = ratio * draw(generator, errors)
    stable = draw(generator, BASE_ERRORS)
    outcome, requests = judged(canary, stable)
    minutes = range(60 * RATE, MOST + 1, 60 * RATE)
    windows = [(canary[end - 60 * RATE : end], stable[end - 60 * RATE : end]) for end in minutes]
    worse = [is_worse(*window) for window in windows]
    return Run(
        outcome,
        requests,
        threshold=any(all(three) for three in zip(worse, worse[1:], worse[2:], strict=False)),
        cumulative=any(is_worse(canary[:end], stable[:end]) for end in minutes),
    )


def draw(generator: np.random.Generator, errors: float) -> Seconds:
    """Return the latencies of one arm's whole step; a failed request never finishes."""
    latencies = MEDIAN_SECONDS * np.exp(SIGMA * generator.standard_normal(MOST))
    return np.where(generator.random(MOST) < errors, np.inf, latencies)


def judged(canary: Seconds, stable: Seconds) -> tuple[Outcome, int]:
    """Return the first decision and the requests per arm at which it fell."""
    state = JudgeState()
    for requests in passes_that_matter():
        now = START + timedelta(seconds=requests / RATE)
        evidence = Evidence(arm(canary[:requests]), arm(stable[:requests]), now)
        judgement = judge(PLAN, evidence, None, state, now)
        state = judgement.state
        if judgement.outcome is not Outcome.INCONCLUSIVE:
            return judgement.outcome, requests
    return Outcome.INCONCLUSIVE, MOST


def passes_that_matter() -> list[int]:
    """Return the counts at which a look is due: between them the judge says the same again."""
    counts, look = {round(MINIMUM.total_seconds() * RATE)}, FLOOR
    while look <= MOST:
        counts.add(-(-look // PASS_EVERY) * PASS_EVERY)
        look = next_look(FLOOR, look)
    return sorted(count for count in counts if count <= MOST)


def arm(latencies: Seconds) -> ArmEvidence:
    """Return an arm; an infinite latency is a failed request."""
    buckets = np.bincount(np.searchsorted(EDGES_SECONDS, latencies), minlength=BUCKET_COUNT)
    histogram = Histogram(tuple(int(count) for count in buckets))
    return ArmEvidence(len(latencies), int(np.isinf(latencies).sum()), {LatencyMetric.TTFT: histogram})


def is_worse(canary: Seconds, stable: Seconds) -> bool:
    """Return whether the canary's measured P95 is above 105 % of stable's."""
    canary_p95, stable_p95 = (float(np.quantile(arm, 0.95, method="higher")) for arm in (canary, stable))
    return canary_p95 > 1.05 * stable_p95


def row(name: str, runs: Sequence[Run]) -> str:
    """Return the figures of one kind of canary."""
    failed = [run.requests for run in runs if run.outcome is Outcome.FAIL]
    passed = [run.requests for run in runs if run.outcome is Outcome.PASS]

    def share(count: int) -> str:
        return f"{100 * count / len(runs):6.1f} %"

    def within(counts: list[int], most: int) -> str:
        return share(sum(count <= most for count in counts))

    def median(counts: list[int]) -> str:
        return f"{statistics.median(counts):8,.0f}" if counts else "       -"

    return (
        f"{name:10} | {within(failed, 2000)} {within(failed, 8000)} {share(len(failed))}  {median(failed)} | "
        f"{share(len(passed))} {within(passed, 8000)} {median(passed)} | "
        f" {share(sum(run.threshold for run in runs))}    {share(sum(run.cumulative for run in runs))}"
    )


if __name__ == "__main__":
    sys.exit(main())
