"""When the judge may look, and how much evidence each look needs.

Exact tests are exact once. Looked at on every pass they would sooner or later reject anything, so a
gate is looked at only when the canary's requests first reach ``floor * 1.5 ** k``, and the j-th look
(from 0) may spend ``alpha / 2 ** (j + 1)``: together all looks spend less than ``alpha``, however
many there are. When to look depends on counts and planned times only, never on what was measured.
"""

from __future__ import annotations

import math

FLOOR = 150
FLOOR_P99 = 662
GROWTH = 1.5


def floor_of(quantile: float | None) -> int:
    """Return the fewest requests per arm that a gate is judged on.

    Up to P95 it is 150, also for error rates and lower quantiles: fewer requests do not show a
    workload. Above, it is 662, from where one violation too many can be told at P99.
    """
    return FLOOR if quantile is None or quantile <= 0.95 else FLOOR_P99


def next_look(floor: int, looked_at: int) -> int:
    """Return the first count of the schedule beyond the last look (0: none was taken yet)."""
    if looked_at < floor:
        return floor
    step = math.floor(math.log(looked_at / floor) / math.log(GROWTH)) + 1
    while _count(floor, step) <= looked_at:  # the logarithm may be off by one at a boundary
        step += 1
    return _count(floor, step)


def log_alpha(alpha: float, looks_taken: int) -> float:
    """Return the logarithm of what the next look may spend of ``alpha``."""
    return math.log(alpha) - (looks_taken + 1) * math.log(2)


def _count(floor: int, step: int) -> int:
    return math.ceil(floor * GROWTH**step)
