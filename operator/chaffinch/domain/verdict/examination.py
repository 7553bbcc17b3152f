"""One gate examined: which looks are due, what they say, and what stands between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from chaffinch.domain.evidence import ArmEvidence, Evidence, NoEvidence
from chaffinch.domain.verdict.looks import floor_of, log_alpha, next_look
from chaffinch.domain.verdict.memory import GateMemory
from chaffinch.domain.verdict.questions import Question, question_of
from chaffinch.domain.verdict.types import Against, EvidenceReason, Gate, GateVerdict, Level, Outcome, Plan

Baseline = ArmEvidence | NoEvidence | None


@dataclass(frozen=True, slots=True)
class Hearing:
    """What all gates of a step are examined on.

    Attributes:
        plan: What the step has to show.
        evidence: What was counted.
        baseline: The frozen baseline's gate stage, or why it cannot be compared with.
        now: The time.
    """

    plan: Plan
    evidence: Evidence
    baseline: Baseline
    now: datetime


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found out about a gate, and what to remember of it."""

    verdict: GateVerdict
    memory: GateMemory


def examine(gate: Gate, memory: GateMemory, hearing: Hearing) -> Examination:
    """Take the looks that are due at one gate.

    A look that could fail it is due when the canary's requests have crossed the next count of the
    schedule. A look that could pass it is due under the same schedule of its own, but only once
    the step's minimum time is over: a pass could not be used before, so none of its alpha is spent. And
    it needs the floor in *answered* requests: clients who leave can accuse a canary, and acquit none.
    """
    plan, evidence, now = hearing.plan, hearing.evidence, hearing.now
    reference = hearing.baseline if gate.against is Against.BASELINE else evidence.control
    if isinstance(reference, NoEvidence):
        return Examination(unread(gate, memory, EvidenceReason(reference.problem.value)), memory)
    question = question_of(gate, evidence.candidate, reference)
    if _reach_the_floor(question.counts, gate):
        memory = _look_to_fail(question, gate, plan, memory)
    if _reach_the_floor(question.answered, gate):
        memory = _look_to_pass(question, gate, plan, memory, now)
    return Examination(_verdict(question, gate, plan, memory, now), memory)


def unread(gate: Gate, memory: GateMemory, reason: EvidenceReason) -> GateVerdict:
    """Return what stands of a gate when there is no evidence to read: a Fail stays, a Pass does not."""
    failed = memory.absorbed is Outcome.FAIL
    return GateVerdict(
        gate=gate,
        outcome=Outcome.FAIL if failed else Outcome.INCONCLUSIVE,
        reason=EvidenceReason.SUFFICIENT if failed else reason,
        value=None,
        control=None,
        ratio=None,
        interval=(None, None),
        candidate=0,
        control_requests=0,
        next_look=next_look(floor_of(gate.quantile), memory.fail_at),
    )


def _look_to_fail(question: Question, gate: Gate, plan: Plan, memory: GateMemory) -> GateMemory:
    candidate, _ = question.counts
    if memory.absorbed is Outcome.FAIL or candidate < next_look(floor_of(gate.quantile), memory.fail_at):
        return memory
    level = _fail_level(plan, memory.fail_looks)
    failed = question.fails(level) and not question.is_shared(level)
    return replace(
        memory,
        fail_looks=memory.fail_looks + 1,
        fail_at=candidate,
        absorbed=Outcome.FAIL if failed else memory.absorbed,
        proven=memory.proven and not failed,
    )


def _look_to_pass(
    question: Question, gate: Gate, plan: Plan, memory: GateMemory, now: datetime
) -> GateMemory:
    candidate, _ = question.counts
    if memory.absorbed is not Outcome.INCONCLUSIVE or now < plan.earliest_end:
        return memory
    if candidate < next_look(floor_of(gate.quantile), memory.pass_at):
        return memory
    accused = question.fails(_last_fail_level(plan, memory))
    asked, level = question.asked(plan.require), log_alpha(plan.pass_alpha, memory.pass_looks)
    shown = question.passes(asked, level)
    passed = not accused and (gate.veto or shown)
    return replace(
        memory,
        pass_looks=memory.pass_looks + 1,
        pass_at=candidate,
        absorbed=Outcome.PASS if passed else Outcome.INCONCLUSIVE,
        proven=passed and shown and asked is not plan.require,
    )


def _verdict(question: Question, gate: Gate, plan: Plan, memory: GateMemory, now: datetime) -> GateVerdict:
    candidate, control = question.counts
    low, high = _last_fail_level(plan, memory), log_alpha(plan.pass_alpha, max(0, memory.pass_looks - 1))
    passed = memory.absorbed is Outcome.PASS
    unproven = passed and gate.veto and not question.passes(Level.PROVEN, high)
    figures = question.figures(low, high)
    decided = memory.absorbed is not Outcome.INCONCLUSIVE
    return GateVerdict(
        gate=gate,
        outcome=memory.absorbed,
        reason=EvidenceReason.SUFFICIENT if decided else _why_undecided(question, gate, plan, memory, now),
        value=figures.value,
        control=figures.control,
        ratio=figures.ratio,
        interval=figures.interval,
        candidate=candidate,
        control_requests=control or 0,
        next_look=next_look(floor_of(gate.quantile), memory.fail_at),
        ruled_out=question.ruled_out(_level_passed(plan, memory)) if passed and not unproven else None,
        unproven=unproven,
    )


def _level_passed(plan: Plan, memory: GateMemory) -> Level:
    return Level.PROVEN if memory.proven else plan.require


def _why_undecided(
    question: Question, gate: Gate, plan: Plan, memory: GateMemory, now: datetime
) -> EvidenceReason:
    late = now >= plan.deadline
    if 0 in question.answered:
        return EvidenceReason.NO_DATA
    if not _reach_the_floor(question.answered, gate):
        return EvidenceReason.TOO_QUIET if late else EvidenceReason.BELOW_FLOOR
    level = _last_fail_level(plan, memory)
    if question.fails(level) and question.is_shared(level):
        return EvidenceReason.STABLE_OVER_LIMIT
    return EvidenceReason.UNDERPOWERED if late or plan.final else EvidenceReason.JUDGING


def _reach_the_floor(counts: tuple[int, int | None], gate: Gate) -> bool:
    candidate, control = counts
    floor = floor_of(gate.quantile)
    return candidate >= floor and (control is None or control >= floor)


def _fail_level(plan: Plan, looks_taken: int) -> float:
    # Any of the gates may fail the step, so they share its alpha (Bonferroni).
    return log_alpha(plan.fail_alpha / len(plan.gates), looks_taken)


def _last_fail_level(plan: Plan, memory: GateMemory) -> float:
    return _fail_level(plan, max(0, memory.fail_looks - 1))
