"""The two ways in which an attempt ends, and what is remembered of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, Outcome, RolloutStage
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.status import MAX_FAILED_REVISIONS
from chaffinch.api.v1alpha1.strategy import BakeStep, ProbeStep
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next, WriteOrder
from chaffinch.domain.route import Decision
from chaffinch.domain.state import LastAttempt, RolloutState, StableRevision
from chaffinch.domain.verdict import Outcome as Verdict
from chaffinch.domain.wording import clip

ENVIRONMENT = frozenset({Reason.UNSCHEDULABLE, Reason.CANARY_UNAVAILABLE})
"""Troubles that say nothing about the revision: it is tried again by itself, after a while."""
NOT_REMEMBERED = ENVIRONMENT | {Reason.SUPERSEDED, Reason.ABORTED}
"""Causes that don't make a revision a failed one."""


def rolling_back(situation: Situation, cause: str, message: str, command: str | None = None) -> Next:
    """Decide to roll back: the route takes all traffic off the candidate before anything else is written."""
    decision = Decision(DecisionKind.ROLLBACK, cause, situation.now, clip(message), command)
    return situation.at_once(rolled_back_by(situation, decision), WriteOrder.ROUTE_FIRST)


def missed_objective(situation: Situation) -> str | None:
    """Say which objective is missed, at which step and beside what; None if evidence proves none.

    A baseline is held to in a probe only: live traffic is another load. A bake has nothing to compare with:
    whoever reads of it has to know that a bad machine looks no other.
    """
    judgement, step = situation.judgement, situation.step
    if judgement is None or judgement.outcome is not Verdict.FAIL:
        return None
    baseline = situation.candidate.plan.baseline if isinstance(step, ProbeStep) else None
    held_to = f", baseline {baseline.name}" if baseline else ""
    alone = ", without traffic on stable to compare with" if isinstance(step, BakeStep) else ""
    return f"{judgement.detail}, step {step.name}{held_to}{alone}"


def rolled_back_by(situation: Situation, decision: Decision) -> RolloutState:
    """Return the state in which a decision to roll back is carried out."""
    state = situation.with_candidate(
        decision=decision,
        weight=0,
        deadline=None,
        warm_up=None,
        step=situation.candidate.step,
        paused=None,
    )
    return replace(state, stage=RolloutStage.ROLLING_BACK, hold=None)


def after_rollback(situation: Situation, decision: Decision) -> RolloutState:
    """Return the state after a rollback: stable serves, and the revision may be remembered as failed."""
    candidate, state = situation.candidate, situation.state
    superseded = decision.cause == Reason.SUPERSEDED
    failed = state.failed
    if decision.cause not in NOT_REMEMBERED:
        others = tuple(revision for revision in failed if revision != candidate.revision)
        failed = (*others, candidate.revision)[-MAX_FAILED_REVISIONS:]
    return replace(
        state,
        stage=RolloutStage.IDLE,
        candidate=None,
        hold=None,
        failed=failed,
        last_attempt=LastAttempt(
            revision=candidate.revision,
            attempt=candidate.attempt,
            outcome=Outcome.SUPERSEDED if superseded else Outcome.ROLLED_BACK,
            cause=decision.cause,
            ended_at=situation.now,
            message=decision.message,
            decided_at=decision.at,
            again_at=_again_at(situation, decision),
        ),
    )


def _again_at(situation: Situation, decision: Decision) -> datetime | None:
    """Return when the revision is tried again by itself: not at all if it was not its environment's fault.

    Each time it waits twice as long: an attempt that loses its pods under traffic costs users requests. One
    that a person had started before that begins with the shortest wait again.
    """
    candidate, last, timing = situation.candidate, situation.state.last_attempt, situation.timing
    if decision.cause not in ENVIRONMENT:
        return None
    wait = timing.retry
    if last is not None and last.revision == candidate.revision and last.again_at is not None:
        by_itself = candidate.started_at >= last.again_at
        before = (last.again_at - last.ended_at).total_seconds()
        wait = min(2 * before, timing.retry_longest) if by_itself else timing.retry
    return situation.after(wait)


def became_stable(situation: Situation, message: str) -> RolloutState:
    """Return the state after a promotion: the candidate is stable now, and no failed revision any more."""
    candidate, state = situation.candidate, situation.state
    return replace(
        state,
        stage=RolloutStage.IDLE,
        stable=StableRevision(candidate.revision, situation.now),
        candidate=None,
        hold=None,
        failed=tuple(revision for revision in state.failed if revision != candidate.revision),
        last_attempt=LastAttempt(
            revision=candidate.revision,
            attempt=candidate.attempt,
            outcome=Outcome.PROMOTED,
            cause=Reason.AS_EXPECTED,
            ended_at=situation.now,
            message=message,
            decided_at=candidate.decision.at if candidate.decision else None,
        ),
    )
