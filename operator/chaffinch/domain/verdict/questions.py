"""The question that each kind of gate puts to the counts: four kinds, one small interface."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from chaffinch.domain.evidence import ArmEvidence, LatencyMetric
from chaffinch.domain.grid import GROWTH, shift_of
from chaffinch.domain.verdict.counts import Latencies
from chaffinch.domain.verdict.errors import Errors, Increase, ShareTest
from chaffinch.domain.verdict.latency import PASS_UP_TO, Comparison, LimitTest
from chaffinch.domain.verdict.types import Gate, Kind, Level

HARM_SHIFT = 16
"""Grave harm to a latency, in buckets: a ratio of 1.477."""
HARM_INCREASE = 0.03
"""Grave harm to the error rate: 3 percentage points."""
FAIL_SHIFT = 2
"""What still counts as "not worse" than a control that is over the limit itself: 5 %."""
FAIL_INCREASE = 0.005
"""The same of error rates: half a percentage point."""

Interval = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of a gate for people, as in :class:`~chaffinch.domain.verdict.types.GateVerdict`."""

    value: float | None
    control: float | None
    ratio: float | None
    interval: Interval


class Question(Protocol):
    """What can be asked about a gate. Levels are logarithms of probabilities of being wrong."""

    @property
    def counts(self) -> tuple[int, int | None]:
        """The requests of the canary, and of what it is compared with (None: with a limit)."""
        ...

    @property
    def answered(self) -> tuple[int, int | None]:
        """Those of them whose end was seen: without enough of these nothing is good."""
        ...

    def fails(self, log_alpha: float) -> bool:
        """Return whether the canary is proven beyond the limit."""
        ...

    def asked(self, level: Level) -> Level:
        """Return what is to be shown where a step asks for a level: more, if nothing could show that."""
        ...

    def passes(self, level: Level, log_alpha: float) -> bool:
        """Return whether the canary is proven good enough for a level that is :meth:`asked` for."""
        ...

    def ruled_out(self, level: Level) -> float | None:
        """Return what passing rules out, in the limit's unit; None if it is not held against the limit."""
        ...

    def is_shared(self, log_alpha: float) -> bool:
        """Return whether a limit that the canary misses is missed by the control alike."""
        ...

    def figures(self, log_low: float, log_high: float) -> Figures:
        """Return the numbers, with an interval whose ends are where the two tests turn."""
        ...


def question_of(gate: Gate, candidate: ArmEvidence, control: ArmEvidence | None) -> Question:
    """Return the question of a gate.

    Args:
        gate: The gate.
        candidate: The canary's arm.
        control: What the gate compares with: for a MAX the concurrent control, if there is one.
    """
    if isinstance(gate.metric, LatencyMetric):
        quantile = gate.quantile or 0.0  # a latency gate always has one
        comparison = Comparison(
            Latencies.of(candidate, gate.metric), Latencies.of(control, gate.metric), quantile
        )
        if gate.kind is Kind.REGRESSION:
            return Regression(comparison, shift_of(gate.limit))
        return LatencyMax(comparison, gate.limit)
    increase = Increase(Errors.of(candidate), Errors.of(control))
    return (
        ErrorIncrease(increase, gate.limit) if gate.kind is Kind.INCREASE else ErrorMax(increase, gate.limit)
    )


@dataclass(frozen=True, slots=True)
class Regression:
    """A latency may be at most so much longer than the control's.

    It fails beyond the margin (rounded down to whole buckets) and is proven within the margin plus
    one bucket: between the two lies a zone that is declared indifferent.
    """

    comparison: Comparison
    shift: int

    @property
    def counts(self) -> tuple[int, int | None]:
        """The canary's and the control's requests."""
        return self.comparison.canary.seen, self.comparison.control.seen

    @property
    def answered(self) -> tuple[int, int | None]:
        """The canary's and the control's latencies."""
        return self.comparison.canary.answered, self.comparison.control.answered

    def fails(self, log_alpha: float) -> bool:
        """Return whether the canary is proven slower than the margin allows."""
        return self.comparison.slower(self.shift, log_alpha)

    def asked(self, level: Level) -> Level:
        """Return the level: there is always something to compare with, or it is waited for."""
        return level

    def passes(self, level: Level, log_alpha: float) -> bool:
        """Return whether a regression beyond the level's margin is ruled out."""
        return self.comparison.faster(self._margin(level), log_alpha)

    def ruled_out(self, level: Level) -> float | None:
        """Return the ratio of the level's margin."""
        return GROWTH ** self._margin(level)

    def _margin(self, level: Level) -> int:
        return self.shift + 1 if level is Level.PROVEN else max(HARM_SHIFT, self.shift + 1)

    def is_shared(self, log_alpha: float) -> bool:  # noqa: ARG002 - one interface for all kinds
        """Return False: a comparison has no limit that both arms could miss."""
        return False

    def figures(self, log_low: float, log_high: float) -> Figures:
        """Return both quantiles, their ratio, and bounds of it."""
        return _latency_figures(self.comparison, self.comparison.interval(log_low, log_high))


@dataclass(frozen=True, slots=True)
class LatencyMax:
    """A latency may be at most so long."""

    comparison: Comparison
    limit: float

    @property
    def counts(self) -> tuple[int, int | None]:
        """The canary's requests; a limit has none."""
        return self.comparison.canary.seen, None

    @property
    def answered(self) -> tuple[int, int | None]:
        """The canary's latencies; a limit has none."""
        return self.comparison.canary.answered, None

    def fails(self, log_alpha: float) -> bool:
        """Return whether the quantile is proven above the limit."""
        return self._test(self.comparison.canary).over(log_alpha)

    def asked(self, level: Level) -> Level:
        """Return Proven if no request of the control could show that there is no harm beside it."""
        return level if self.comparison.control.seen else Level.PROVEN

    def passes(self, level: Level, log_alpha: float) -> bool:
        """Return whether the limit is kept; for no harm, whether nothing grave is seen beside the control."""
        if level is Level.PROVEN:
            return self._test(self.comparison.canary).under(log_alpha)
        return self.comparison.faster(HARM_SHIFT, log_alpha)

    def ruled_out(self, level: Level) -> float | None:
        """Return the seconds that a proof rules out; no harm is shown beside the control."""
        return self.limit * PASS_UP_TO if level is Level.PROVEN else None

    def is_shared(self, log_alpha: float) -> bool:
        """Return whether the control is over the limit too, and the canary is not proven worse."""
        control = self.comparison.control
        if not control.seen or self._test(control).keeps():
            return False
        return not self.comparison.slower(FAIL_SHIFT, log_alpha)

    def figures(self, log_low: float, log_high: float) -> Figures:
        """Return both quantiles, and bounds of the canary's in seconds."""
        return _latency_figures(
            self.comparison, self._test(self.comparison.canary).interval(log_low, log_high)
        )

    def _test(self, arm: Latencies) -> LimitTest:
        return LimitTest(arm, self.comparison.quantile, self.limit)


@dataclass(frozen=True, slots=True)
class ErrorIncrease:
    """The error rate may be at most so many percentage points above the control's."""

    increase: Increase
    margin: float

    @property
    def counts(self) -> tuple[int, int | None]:
        """The canary's and the control's requests."""
        return self.increase.canary.requests, self.increase.control.requests

    @property
    def answered(self) -> tuple[int, int | None]:
        """The same: who left is counted in no error rate."""
        return self.counts

    def fails(self, log_alpha: float) -> bool:
        """Return whether an increase beyond the margin is proven."""
        return self.increase.above(self.margin, log_alpha)

    def asked(self, level: Level) -> Level:
        """Return the level: there is always something to compare with, or it is waited for."""
        return level

    def passes(self, level: Level, log_alpha: float) -> bool:
        """Return whether an increase beyond the level's margin is ruled out."""
        return self.increase.below(self._margin(level), log_alpha)

    def ruled_out(self, level: Level) -> float | None:
        """Return the level's margin."""
        return self._margin(level)

    def _margin(self, level: Level) -> float:
        return self.margin if level is Level.PROVEN else max(HARM_INCREASE, self.margin)

    def is_shared(self, log_alpha: float) -> bool:  # noqa: ARG002 - one interface for all kinds
        """Return False: a comparison has no limit that both arms could miss."""
        return False

    def figures(self, log_low: float, log_high: float) -> Figures:
        """Return both shares, and bounds of their difference."""
        return _error_figures(self.increase, self.increase.interval(log_low, log_high))


@dataclass(frozen=True, slots=True)
class ErrorMax:
    """The error rate may be at most so high."""

    increase: Increase
    limit: float

    @property
    def counts(self) -> tuple[int, int | None]:
        """The canary's requests; a limit has none."""
        return self.increase.canary.requests, None

    @property
    def answered(self) -> tuple[int, int | None]:
        """The same: who left is counted in no error rate."""
        return self.counts

    def fails(self, log_alpha: float) -> bool:
        """Return whether the share is proven above the limit."""
        return ShareTest(self.increase.canary, self.limit).over(log_alpha)

    def asked(self, level: Level) -> Level:
        """Return Proven if no request of the control could show that there is no harm beside it."""
        return level if self.increase.control.requests else Level.PROVEN

    def passes(self, level: Level, log_alpha: float) -> bool:
        """Return whether the limit is kept; for no harm, whether nothing grave is seen beside the control."""
        if level is Level.PROVEN:
            return ShareTest(self.increase.canary, self.limit).under(log_alpha)
        return self.increase.below(HARM_INCREASE, log_alpha)

    def ruled_out(self, level: Level) -> float | None:
        """Return the share that a proof rules out; no harm is shown beside the control."""
        return ShareTest(self.increase.canary, self.limit).ruled_out if level is Level.PROVEN else None

    def is_shared(self, log_alpha: float) -> bool:
        """Return whether the control is over the limit too, and the canary is not proven worse."""
        control = self.increase.control
        if not control.requests or ShareTest(control, self.limit).keeps():
            return False
        return not self.increase.above(FAIL_INCREASE, log_alpha)

    def figures(self, log_low: float, log_high: float) -> Figures:
        """Return both shares, and bounds of the canary's."""
        canary = self.increase.canary
        bounds = canary.at_least(log_low), canary.at_most(log_high)
        return _error_figures(self.increase, bounds if canary.requests else (None, None))


def _latency_figures(comparison: Comparison, interval: Interval) -> Figures:
    value = comparison.canary.quantile_seconds(comparison.quantile)
    control = comparison.control.quantile_seconds(comparison.quantile)
    both = value is not None and control is not None and math.isfinite(value) and math.isfinite(control)
    return Figures(value, control, value / control if both and value and control else None, interval)


def _error_figures(increase: Increase, interval: Interval) -> Figures:
    return Figures(increase.canary.share, increase.control.share, None, interval)
