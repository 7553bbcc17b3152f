"""Writes what the judge found about each objective as a status shows it: text with units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from chaffinch.api.v1alpha1.step_status import ArmSamples, ObjectiveStatus, ObjectiveVerdict
from chaffinch.domain.verdict import Against, EvidenceReason, Gate, GateVerdict, Kind, Outcome
from chaffinch.domain.verdict.wording import describe
from chaffinch.domain.wording import sentences

_WORST_FIRST = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)


@dataclass(frozen=True, slots=True)
class StepClock:
    """How long a step's requests have been counted.

    Attributes:
        since: When its clock began; None before it has.
        now: The time.
    """

    since: datetime | None
    now: datetime


def objectives_status(
    verdicts: Sequence[GateVerdict], step: str, clock: StepClock
) -> tuple[ObjectiveStatus, ...]:
    """Return one entry per objective: of its gates, the one that is worst off.

    Args:
        verdicts: The verdicts on a step's gates, in the plan's order.
        step: The step's name.
        clock: From which the next look is foreseen.
    """
    groups = groupby(verdicts, key=lambda verdict: verdict.gate.objective)
    return tuple(_entry(tuple(group), step, clock) for _, group in groups)


def _rank(verdict: GateVerdict) -> int:
    return _WORST_FIRST.index(_outcome(verdict))


def _outcome(verdict: GateVerdict) -> Outcome:
    """Return what is shown: a veto lets the step go on with what it does not prove; it is no Pass to read."""
    return Outcome.INCONCLUSIVE if verdict.unproven else verdict.outcome


def _entry(verdicts: Sequence[GateVerdict], step: str, clock: StepClock) -> ObjectiveStatus:
    verdict = min(verdicts, key=_rank)
    gate = verdict.gate
    # A probe's `max` is compared with nothing: the objective's other gate has the baseline's figure.
    compared = verdict if verdict.control is not None else max(verdicts, key=_is_compared)
    return ObjectiveStatus(
        name=gate.objective,
        verdict=ObjectiveVerdict(_outcome(verdict).value),
        reason=(EvidenceReason.UNDERPOWERED if verdict.unproven else verdict.reason).value,
        value=_measured(gate, verdict.value),
        control=_measured(gate, compared.control),
        ratio=None if compared.ratio is None else f"{compared.ratio:.3f}",
        interval=_interval(verdict),
        limit=_in_unit_of_limit(gate, gate.limit),
        ruled_out=_in_unit_of_limit(gate, verdict.ruled_out),
        samples=ArmSamples(
            candidate=verdict.candidate,
            stable=verdict.control_requests if gate.against is Against.CONTROL else None,
        ),
        eta=_next_look_at(verdict, clock),
        step=step,
        message=sentences(describe(verdict)),
    )


def _is_compared(verdict: GateVerdict) -> bool:
    return verdict.control is not None


def _next_look_at(verdict: GateVerdict, clock: StepClock) -> datetime | None:
    """Foresee, to the second, when as many requests have come as the next look needs.

    They are taken to come as they have so far. Only where a number of the canary's requests is all that is
    waited for: nobody can foresee when measurements or a quiet stable revision's requests come back.
    """
    counted, since = verdict.candidate, clock.since
    if verdict.reason is not EvidenceReason.JUDGING or counted == 0 or since is None or clock.now <= since:
        return None
    at = since + (clock.now - since) * (verdict.next_look / counted)
    return at.replace(microsecond=0)


def _interval(verdict: GateVerdict) -> str | None:
    low, high = verdict.interval
    if low is None and high is None:
        return None
    return "..".join(_in_unit_of_limit(verdict.gate, bound) or "?" for bound in (low, high))


def _in_unit_of_limit(gate: Gate, amount: float | None) -> str | None:
    if amount is None:
        return None
    if gate.kind is Kind.REGRESSION:
        return f"{amount:.3f}"
    return f"{amount * 100:.2f}pp" if gate.kind is Kind.INCREASE else _measured(gate, amount)


def _measured(gate: Gate, value: float | None) -> str | None:
    if value is None:
        return None
    if gate.quantile is None:
        return f"{value * 100:.2f}%"
    return "unbounded" if math.isinf(value) else f"{value * 1000:.1f}ms"
