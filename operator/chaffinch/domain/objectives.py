"""Writes what the judge found about each objective as a status shows it: text with units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from chaffinch.api.v1alpha1.status import ArmSamples, ObjectiveStatus, ObjectiveVerdict
from chaffinch.domain.verdict import Against, Gate, GateVerdict, Kind, Outcome
from chaffinch.domain.verdict.wording import describe
from chaffinch.domain.wording import sentences

_WORST_FIRST = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)


def objectives_status(verdicts: Sequence[GateVerdict], step: str) -> tuple[ObjectiveStatus, ...]:
    """Return one entry per objective: of its gates, the one that is worst off.

    Args:
        verdicts: The verdicts on a step's gates, in the plan's order.
        step: The step's name.
    """
    groups = groupby(verdicts, key=lambda verdict: verdict.gate.objective)
    return tuple(_entry(min(group, key=_rank), step) for _, group in groups)


def _rank(verdict: GateVerdict) -> int:
    return _WORST_FIRST.index(verdict.outcome)


def _entry(verdict: GateVerdict, step: str) -> ObjectiveStatus:
    gate = verdict.gate
    return ObjectiveStatus(
        name=gate.objective,
        verdict=ObjectiveVerdict(verdict.outcome.value),
        reason=verdict.reason.value,
        value=_measured(gate, verdict.value),
        control=_measured(gate, verdict.control),
        ratio=None if verdict.ratio is None else f"{verdict.ratio:.3f}",
        interval=_interval(verdict),
        limit=_in_unit_of_limit(gate, gate.limit),
        samples=ArmSamples(
            candidate=verdict.candidate,
            stable=verdict.control_requests if gate.against is Against.CONTROL else None,
        ),
        step=step,
        message=sentences(describe(verdict)),
    )


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
