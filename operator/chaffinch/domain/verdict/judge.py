"""The verdict on a step, as one pure function of everything that it may depend on."""

from __future__ import annotations

from datetime import datetime

from chaffinch.domain.evidence import Evidence, NoEvidence
from chaffinch.domain.verdict.checks import (
    ABOUT_EVIDENCE,
    CHECKS,
    Case,
    Finding,
    first_finding,
)
from chaffinch.domain.verdict.examination import Baseline, Hearing, examine, unread
from chaffinch.domain.verdict.memory import JudgeState
from chaffinch.domain.verdict.types import EvidenceReason, GateVerdict, Judgement, Outcome, Plan


def judge(
    plan: Plan, evidence: Evidence | NoEvidence, baseline: Baseline, state: JudgeState, now: datetime
) -> Judgement:
    """Judge a step.

    Laws, each with a test: without fresh evidence of the canary there is no Pass; the same evidence
    again changes nothing; more errors, or more requests beyond a limit, never make a Fail less likely; a Fail
    stays a Fail for the rest of the step; a Pass may still become a Fail.

    Args:
        plan: What the step has to show.
        evidence: Everything counted since the step's start, or why there is nothing.
        baseline: The gate stage of the frozen baseline, or why it cannot be compared with; None
            when no gate asks for it.
        state: What the previous call of this step returned; empty at the step's start.
        now: The time, timezone-aware.
    """
    unusable = first_finding(ABOUT_EVIDENCE, Case(plan, evidence, now))
    if unusable is not None or isinstance(evidence, NoEvidence):
        verdicts, after = _remembered(plan, state, unusable), state
    else:
        verdicts, after = _examined(Hearing(plan, evidence, baseline, now), state)
    finding = first_finding(CHECKS, Case(plan, evidence, now, verdicts))
    finding = finding or Finding(Outcome.PASS, EvidenceReason.SUFFICIENT, _why_it_passes(verdicts))
    undecided = finding.outcome is Outcome.INCONCLUSIVE
    return Judgement(
        outcome=finding.outcome,
        reason=finding.reason,
        detail=finding.detail,
        verdicts=verdicts,
        overdue=undecided and (now >= plan.deadline or (plan.final and unusable is None)),
        state=after,
    )


def _why_it_passes(verdicts: tuple[GateVerdict, ...]) -> str:
    if any(verdict.unproven for verdict in verdicts):
        return "every objective that a probe can prove passes, and no other is proven missed"
    if any(verdict.leaves_limit_open for verdict in verdicts):
        return "no objective shows harm beside stable; that each `max` is kept is not proven at this step"
    return "every objective passes"


def _examined(hearing: Hearing, state: JudgeState) -> tuple[tuple[GateVerdict, ...], JudgeState]:
    found = {gate.key: examine(gate, state.of(gate.key), hearing) for gate in hearing.plan.gates}
    return (
        tuple(examination.verdict for examination in found.values()),
        JudgeState({key: examination.memory for key, examination in found.items()}),
    )


def _remembered(plan: Plan, state: JudgeState, unusable: Finding | None) -> tuple[GateVerdict, ...]:
    reason = EvidenceReason.NO_DATA if unusable is None else unusable.reason
    return tuple(unread(gate, state.of(gate.key), reason) for gate in plan.gates)
