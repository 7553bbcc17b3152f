"""What can keep a step from passing, as an ordered chain of small checks.

Each check is named after the bad state it finds, and says nothing when all is well. The first
one that speaks decides; a step passes when none does. The order is part of the meaning: harm that was
proven outranks evidence that is missing now, and evidence that is missing or old outranks whatever
it would have said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from chaffinch.domain.evidence import Evidence, NoEvidence
from chaffinch.domain.verdict.types import EvidenceReason, GateVerdict, Outcome, Plan
from chaffinch.domain.verdict.wording import describe


@dataclass(frozen=True, slots=True)
class Case:
    """Everything a check may look at: gathered once, before the first of them runs."""

    plan: Plan
    evidence: Evidence | NoEvidence
    now: datetime
    verdicts: tuple[GateVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A bad state that was found, and the outcome that it means."""

    outcome: Outcome
    reason: EvidenceReason
    detail: str


Check = Callable[[Case], Finding | None]

_WORST_FIRST = (
    EvidenceReason.NO_DATA,
    EvidenceReason.UNAVAILABLE,
    EvidenceReason.NOT_COMPARABLE,
    EvidenceReason.STALE_DATA,
    EvidenceReason.STABLE_OVER_LIMIT,
    EvidenceReason.TOO_QUIET,
    EvidenceReason.BELOW_FLOOR,
    EvidenceReason.UNDERPOWERED,
    EvidenceReason.JUDGING,
    EvidenceReason.SUFFICIENT,
)


def an_objective_fails(case: Case) -> Finding | None:
    """A limit is proven broken."""
    failing = failing_of(case.verdicts)
    if failing is None:
        return None
    return Finding(Outcome.FAIL, EvidenceReason.SUFFICIENT, describe(failing))


def evidence_is_missing(case: Case) -> Finding | None:
    """The source could not answer, or its answer could not be believed."""
    if isinstance(case.evidence, Evidence):
        return None
    return _inconclusive(EvidenceReason(case.evidence.problem.value), case.evidence.detail)


def evidence_is_stale(case: Case) -> Finding | None:
    """The newest block is too old, or so far ahead that the clocks cannot be compared."""
    if isinstance(case.evidence, NoEvidence):
        return None
    age = case.now - case.evidence.until
    if abs(age) <= case.plan.staleness:
        return None
    ahead = "is ahead of this clock" if age.total_seconds() < 0 else "is too old"
    return _inconclusive(EvidenceReason.STALE_DATA, f"the newest block of the evidence {ahead}")


def the_canary_is_unseen(case: Case) -> Finding | None:
    """The canary has not answered, or failed to answer, one request."""
    if isinstance(case.evidence, NoEvidence):
        return None
    candidate = case.evidence.candidate
    if candidate.requests or any(latency.total for latency in candidate.latencies.values()):
        return None
    return _inconclusive(EvidenceReason.NO_DATA, "not one request of the canary has been answered yet")


def a_gate_is_undecided(case: Case) -> Finding | None:
    """A gate has not passed: the one that is worst off tells why."""
    undecided = [verdict for verdict in case.verdicts if verdict.outcome is not Outcome.PASS]
    if not undecided:
        return None
    worst = min(undecided, key=lambda verdict: _WORST_FIRST.index(verdict.reason))
    return _inconclusive(worst.reason, describe(worst))


def the_minimum_time_is_not_over(case: Case) -> Finding | None:
    """The step is younger than its ``for``."""
    if case.now >= case.plan.earliest_end:
        return None
    return _inconclusive(EvidenceReason.JUDGING, "the step's minimum time is not over")


ABOUT_EVIDENCE: tuple[Check, ...] = (evidence_is_missing, evidence_is_stale)
"""Without these, the evidence is read."""

CHECKS: tuple[Check, ...] = (
    an_objective_fails,
    *ABOUT_EVIDENCE,
    the_canary_is_unseen,
    a_gate_is_undecided,
    the_minimum_time_is_not_over,
)
"""All checks, in their order."""


def first_finding(checks: tuple[Check, ...], case: Case) -> Finding | None:
    """Return what the first check that finds something has found."""
    return next((finding for check in checks if (finding := check(case)) is not None), None)


def failing_of(verdicts: tuple[GateVerdict, ...]) -> GateVerdict | None:
    """Return the first verdict that is a Fail, if one is."""
    return next((verdict for verdict in verdicts if verdict.outcome is Outcome.FAIL), None)


def _inconclusive(reason: EvidenceReason, detail: str) -> Finding:
    return Finding(Outcome.INCONCLUSIVE, reason, detail)
