"""The values that a verdict is made of: what is asked, what was answered, what is remembered.

A :class:`Plan` holds the :class:`Gate` values of one step. Judging them gives one
:class:`GateVerdict` each and one :class:`Judgement` of the step, which carries the
:class:`~chaffinch.domain.verdict.memory.JudgeState` to hand in next time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from chaffinch.api.v1alpha1.rollout import Require
from chaffinch.domain.evidence import LatencyMetric

if TYPE_CHECKING:
    from chaffinch.domain.verdict.memory import JudgeState


class ErrorMetric(StrEnum):
    """The shares of requests that can be gated."""

    ERROR_RATE = "errorRate"


GateMetric = LatencyMetric | ErrorMetric


class Kind(StrEnum):
    """Which limit of an objective a gate holds."""

    MAX = "max"
    REGRESSION = "maxRegression"
    INCREASE = "maxIncrease"


class Against(StrEnum):
    """What the canary is compared with."""

    LIMIT = "Limit"
    CONTROL = "Control"
    BASELINE = "Baseline"


Level = Require
"""How much a step has to prove before the next one may start.

``NO_HARM``: no objective fails, and grave harm (latency x1.477, 3 percentage points of errors) is
ruled out. ``PROVEN``: each gate is shown to hold.
"""


class Outcome(StrEnum):
    """What the evidence says. Inconclusive is an answer, not an error."""

    PASS = "Pass"  # noqa: S105 - an outcome, not a password
    FAIL = "Fail"
    INCONCLUSIVE = "Inconclusive"


class EvidenceReason(StrEnum):
    """Why the evidence is, or is not, enough to decide: the reasons of the ``Evidence`` condition."""

    SUFFICIENT = "Sufficient"
    JUDGING = "Judging"
    BELOW_FLOOR = "BelowFloor"
    NO_DATA = "NoData"
    STALE_DATA = "StaleData"
    UNAVAILABLE = "EvidenceUnavailable"
    UNDERPOWERED = "Underpowered"
    TOO_QUIET = "TooQuiet"
    NOT_COMPARABLE = "NotComparable"
    STABLE_OVER_LIMIT = "StableOverLimit"


@dataclass(frozen=True, slots=True)
class Gate:
    """One limit of one objective.

    Attributes:
        objective: The objective's name.
        metric: What is measured.
        quantile: The quantile as a share (0.95) of a latency; None of an error rate.
        kind: Which limit this is.
        limit: Seconds (latency, MAX), a ratio of 1 or more (REGRESSION: 5 % is 1.05), a share of
            requests (error rate, MAX), or a difference of two shares (INCREASE: 0.5 pp is 0.005).
        against: What the canary is compared with; LIMIT exactly for MAX.
        veto: Whether the gate can only fail: it passes, on enough requests, unless it is proven missed.
    """

    objective: str
    metric: GateMetric
    quantile: float | None
    kind: Kind
    limit: float
    against: Against
    veto: bool = False

    def __post_init__(self) -> None:
        """Refuse gates that ask nothing sensible."""
        latency = isinstance(self.metric, LatencyMetric)
        if latency and not (self.quantile is not None and 0 < self.quantile < 1):
            raise ValueError(f"{self.key}: a latency gate needs a quantile between 0 and 1")
        if not latency and self.quantile is not None:
            raise ValueError(f"{self.key}: an error rate has no quantile")
        if (self.kind is Kind.MAX) != (self.against is Against.LIMIT):
            raise ValueError(f"{self.key}: exactly a max is judged against a limit")
        if self.kind is Kind.REGRESSION and not (latency and self.limit >= 1):
            raise ValueError(f"{self.key}: a regression is a ratio of latencies, 1 or more")
        if self.kind is Kind.INCREASE and latency:
            raise ValueError(f"{self.key}: an increase is a difference of error rates")
        if not 0 <= self.limit < float("inf"):
            raise ValueError(f"{self.key}: a limit must be a finite number, 0 or more")

    @property
    def key(self) -> str:
        """The gate's identity within its plan."""
        return f"{self.objective}/{self.kind}/{self.against}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What one step has to show, and by when.

    Attributes:
        gates: The gates to judge.
        require: How much has to be proven.
        earliest_end: The end of the step's minimum time: no step passes before.
        deadline: When waiting for a verdict ends (``maxWait``).
        staleness: Evidence whose newest block ended longer ago than this decides nothing.
        final: No more evidence will come in this step (a finished probe): what is undecided now
            stays undecided.
        fail_alpha: Chance of failing a canary that keeps every limit exactly, over all gates
            and looks of the step.
        pass_alpha: Chance, per gate and over all looks of the step, of passing a canary that
            is just beyond what must be ruled out.
    """

    gates: tuple[Gate, ...]
    require: Level
    earliest_end: datetime
    deadline: datetime
    staleness: timedelta = timedelta(minutes=3)
    final: bool = False
    fail_alpha: float = 0.01
    pass_alpha: float = 0.05

    def __post_init__(self) -> None:
        """Refuse plans that cannot be judged."""
        if len({gate.key for gate in self.gates}) != len(self.gates):
            raise ValueError("two gates of a plan cannot have the same objective, kind and comparison")
        if not (0 < self.fail_alpha < 1 and 0 < self.pass_alpha < 1):
            raise ValueError("an alpha is a probability between 0 and 1")


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """What the evidence says about one gate, with the numbers that people want to see.

    Attributes:
        gate: The gate.
        outcome: Pass, Fail or Inconclusive; the result of the last look, not of this instant.
        reason: Why it is so; SUFFICIENT of a Pass or Fail.
        value: The canary's quantile in seconds (infinite when unbounded) or its error share;
            None without a request.
        control: The same of what it is compared with, when there is one.
        ratio: ``value / control`` of latencies, when both are finite.
        interval: Bounds (low, high) of the gated quantity in the limit's unit: seconds, ratio,
            share or difference of shares. A gate fails when low is beyond the limit. None: unbounded.
        candidate: How many of the canary's requests were counted.
        control_requests: How many of the control's or baseline's.
        next_look: The count of candidate requests at which the gate is looked at next.
        ruled_out: Of a Pass, the bound beyond the limit that it is proven to keep, in the limit's unit; None
            where nothing was proven beside the limit: no harm to it is shown by comparing with stable.
        unproven: Whether the Pass of a veto says no more than that the limit is not proven missed.
    """

    gate: Gate
    outcome: Outcome
    reason: EvidenceReason
    value: float | None
    control: float | None
    ratio: float | None
    interval: tuple[float | None, float | None]
    candidate: int
    control_requests: int
    next_look: int
    ruled_out: float | None = None
    unproven: bool = False

    @property
    def leaves_limit_open(self) -> bool:
        """Whether its Pass says no more than that there is no harm beside stable: the limit is not proven."""
        return self.outcome is Outcome.PASS and self.ruled_out is None and not self.unproven


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a step.

    Attributes:
        outcome: PASS only when every gate passes at the required level on fresh evidence and the
            minimum time is over; FAIL as soon as one gate fails.
        reason: The reason of the ``Evidence`` condition.
        detail: One sentence of our own about the reason, without numbers that are in ``verdicts``.
        verdicts: One per gate, in the plan's order; without evidence to read they have no numbers.
        overdue: There is no verdict, and waiting is over: the plan's deadline has passed, or its
            final evidence is in.
        state: What to hand to the next call.
    """

    outcome: Outcome
    reason: EvidenceReason
    detail: str
    verdicts: tuple[GateVerdict, ...]
    overdue: bool
    state: JudgeState
