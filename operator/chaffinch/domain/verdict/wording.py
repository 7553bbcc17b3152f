"""A gate's verdict in the words and numbers that an engineer reads first."""

from __future__ import annotations

import math

from chaffinch.domain.grid import GROWTH, shift_of
from chaffinch.domain.verdict.looks import floor_of
from chaffinch.domain.verdict.types import (
    Against,
    EvidenceReason,
    Gate,
    GateVerdict,
    Kind,
    Outcome,
)

_OTHER = {Against.CONTROL: "stable", Against.BASELINE: "the baseline", Against.LIMIT: ""}
_WHY = {
    EvidenceReason.STABLE_OVER_LIMIT: "stable misses the limit too",
    EvidenceReason.UNDERPOWERED: "too few requests came to decide",
}


def describe(verdict: GateVerdict) -> str:
    """Return one line about a gate: name, figures with their interval and limit, counts, and what it means.

    For example ``ttft p95 1.29x stable (1.19..1.41; limit 1.05x), 312ms vs 241ms, n 1180/4720: fail``.
    """
    return f"{_subject(verdict.gate)} {_figures(verdict)}, n {_requests(verdict)}: {_meaning(verdict)}"


def _subject(gate: Gate) -> str:
    return gate.metric.value if gate.quantile is None else f"{gate.metric.value} p{gate.quantile * 100:g}"


def _figures(verdict: GateVerdict) -> str:
    low, high = (_amount(verdict.gate, bound) for bound in verdict.interval)
    bounds = f"({low}..{high}; limit {_limit(verdict.gate)}{_ruled_out(verdict)})"
    value = _measured(verdict.gate, verdict.value)
    if verdict.gate.kind is Kind.MAX:
        return f"{value} {bounds}"
    measured = f"{value} vs {_measured(verdict.gate, verdict.control)}"
    difference = _difference(verdict)
    return f"{difference} {_OTHER[verdict.gate.against]} {bounds}, {measured}"


def _difference(verdict: GateVerdict) -> str:
    if verdict.gate.kind is Kind.REGRESSION:
        return "?x" if verdict.ratio is None else f"{verdict.ratio:.2f}x"
    if verdict.value is None or verdict.control is None:
        return "?pp against"
    return f"{(verdict.value - verdict.control) * 100:+.2f}pp against"


def _requests(verdict: GateVerdict) -> str:
    if verdict.gate.against is Against.LIMIT:
        return f"{verdict.candidate}"
    return f"{verdict.candidate}/{verdict.control_requests}"


def _meaning(verdict: GateVerdict) -> str:
    if verdict.unproven:
        return "not proven kept; a probe fails it only if its lower bound is beyond the limit"
    if verdict.leaves_limit_open:
        return "pass, no harm beside stable; its limit is not proven"
    if verdict.outcome is not Outcome.INCONCLUSIVE:
        return verdict.outcome.lower()
    if verdict.reason in {EvidenceReason.NO_DATA, EvidenceReason.BELOW_FLOOR, EvidenceReason.TOO_QUIET}:
        return f"undecided, needs {floor_of(verdict.gate.quantile)} per arm"
    if verdict.reason is EvidenceReason.JUDGING:
        return f"undecided, next look at n {verdict.next_look}"
    return f"undecided, {_WHY.get(verdict.reason, verdict.reason)}"


def _limit(gate: Gate) -> str:
    if gate.kind is Kind.REGRESSION:
        return f"{GROWTH ** shift_of(gate.limit):.2f}x"
    return _amount(gate, gate.limit)


def _ruled_out(verdict: GateVerdict) -> str:
    if verdict.ruled_out is None:
        return ""
    unit = "x" if verdict.gate.kind is Kind.REGRESSION else ""
    return f", proven below {_amount(verdict.gate, verdict.ruled_out)}{unit}"


def _amount(gate: Gate, amount: float | None) -> str:
    if gate.kind is Kind.REGRESSION:
        return "?" if amount is None else f"{amount:.2f}"
    if gate.kind is Kind.INCREASE:
        return "?" if amount is None else f"{amount * 100:+.2f}pp"
    return _measured(gate, amount)


def _measured(gate: Gate, value: float | None) -> str:
    if value is None:
        return "?"
    if gate.quantile is None:
        return f"{value * 100:.2f}%"
    if math.isinf(value):
        return "unbounded"
    return f"{value * 1000:.3g}ms" if value < 1 else f"{value:.3g}s"
