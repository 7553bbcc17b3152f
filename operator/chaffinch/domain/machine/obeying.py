"""The commands about the attempt that runs: Abort, Promote, Approve, Pause, Resume."""

from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.reasons import CommandReason, Reason
from chaffinch.api.v1alpha1.strategy import ApprovalStep
from chaffinch.domain.commands import Command
from chaffinch.domain.machine.answer import Answer, aborted, decided_already, done, misdirected, who
from chaffinch.domain.machine.ending import rolling_back
from chaffinch.domain.machine.promoting import decided_to_promote, may_be_taken_back
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.strength import with_all_its_time
from chaffinch.domain.state import COMMANDED, Pause
from chaffinch.domain.wording import clip, moment, step_title

_MOVES = frozenset({RolloutStage.DEPLOYING, RolloutStage.STEPPING})
"""The stages in which an attempt's end is open."""


def abort(situation: Situation, command: Command) -> Answer:
    """Roll the candidate back, without blame; it is not tried again by itself."""
    astray = misdirected(situation, command)
    if astray is not None:
        return _aborted_before(situation, command) or astray
    candidate, stable = situation.candidate, situation.state.stable
    if situation.rolls_back:
        for_a_person = candidate.decision is not None and candidate.decision.cause == Reason.ABORTED
        message = f"{candidate.revision} is being rolled back"
        return done(message) if for_a_person else decided_already(situation)
    if stable is None:
        message = "It is the first revision. Change the spec, or delete the rollout"
        return Answer(CommandReason.NOTHING_TO_GO_BACK_TO, message)
    if not situation.stable_serves and situation.serving and candidate.weight:
        message = f"{stable.revision} has no ready pod. Get one ready, or promote {candidate.revision}"
        return Answer(CommandReason.NOTHING_TO_GO_BACK_TO, message)
    if situation.state.stage is RolloutStage.PROMOTING and not may_be_taken_back(situation):
        return Answer(
            CommandReason.TOO_LATE, f"{decided_already(situation).message}. Change the spec instead"
        )
    following = rolling_back(situation, Reason.ABORTED, aborted(command), command.name)
    return done(f"{candidate.revision} is being rolled back to {stable.revision}", following)


def promote(situation: Situation, command: Command) -> Answer:
    """Let the candidate take over without the steps that are left, whatever is known of it."""
    astray = misdirected(situation, command)
    if astray is not None:
        return astray
    candidate = situation.candidate
    if situation.state.stage is RolloutStage.PROMOTING:
        return Answer(CommandReason.NOTHING_TO_DO, decided_already(situation).message)
    if situation.rolls_back:
        return decided_already(situation)
    if situation.state.stable is None:
        message = "The first revision has no steps to skip; it serves when all its pods are ready and warm"
        return Answer(CommandReason.NOTHING_TO_DO, message)
    if not situation.serving:
        message = f"No pod of {candidate.revision} is ready and warm. Ask again when one is"
        return Answer(CommandReason.NOT_WARM, message)
    message = f"promoted {who(command)}, without the steps that were left{_in_spite_of(situation)}"
    following = decided_to_promote(situation, message, command.name)
    return done(f"{candidate.revision} is {message}", following)


def approve(situation: Situation, command: Command) -> Answer:
    """Pass the approval step that waits."""
    astray = misdirected(situation, command)
    if astray is not None:
        return astray
    if situation.state.stage not in _MOVES:
        return decided_already(situation)
    candidate, step = situation.candidate, situation.candidate.step
    current = None if step is None else candidate.plan.steps[step.index]
    if step is None or not isinstance(current, ApprovalStep) or current.name != command.step:
        waits = isinstance(current, ApprovalStep) and step is not None and step.passed_at is None
        what = "waits for its approval" if waits else "is under way; approve when the step waits"
        return Answer(CommandReason.OTHER_STEP, f"{step_title(candidate)} {what}")
    if step.passed_at is not None:
        message = f"{step_title(candidate)} was approved at {moment(step.passed_at)}"
        return Answer(CommandReason.NOTHING_TO_DO, message)
    if situation.is_paused:
        return Answer(CommandReason.PAUSED, "The rollout is paused. Resume it, then approve")
    deadline = situation.after(candidate.plan.strategy.progress_deadline_seconds)
    passed = replace(step, passed_at=situation.now)
    state = replace(situation.with_candidate(step=passed, deadline=deadline), hold=None)
    return done(f"{step_title(candidate)} is approved {who(command)}", situation.at_once(state))


def pause(situation: Situation, command: Command) -> Answer:
    """Keep the candidate where it is; it is judged on."""
    astray = misdirected(situation, command)
    if astray is not None:
        return astray
    candidate = situation.candidate
    if situation.state.stage not in _MOVES:
        return decided_already(situation)
    if situation.state.stable is None:
        return Answer(CommandReason.NOTHING_TO_DO, "The first revision has no steps at which it could stay")
    if candidate.paused is not None:
        message = f"It is paused since {moment(candidate.paused.since)}: {candidate.paused.message}"
        return Answer(CommandReason.NOTHING_TO_DO, message)
    why = f": {command.note}" if command.note else ""
    paused = Pause(situation.now, COMMANDED, command.by, clip(f"paused {who(command)}{why}"))
    following = situation.at_once(situation.with_candidate(paused=paused))
    return done(f"{step_title(candidate)}: {paused.message}", following)


def resume(situation: Situation, command: Command) -> Answer:
    """End a pause. A step that missed an objective begins anew, with new evidence."""
    astray = misdirected(situation, command)
    if astray is not None:
        return astray
    candidate = situation.candidate
    if candidate.paused is None:
        message = f"{candidate.revision} is not paused"
        return Answer(CommandReason.NOTHING_TO_DO, message)
    state = situation.with_candidate(paused=None)
    message = f"{step_title(candidate)} is resumed {who(command)}"
    if candidate.paused.cause == Reason.OBJECTIVE_FAILED:
        state = situation.with_candidate(paused=None, step=with_all_its_time(situation))
        message = f"{message}; what was measured before counts no more"
    return done(message, situation.at_once(replace(state, hold=None)))


def _aborted_before(situation: Situation, command: Command) -> Answer | None:
    """Accept an Abort that was carried out though a crash kept its answer from being recorded."""
    last = situation.state.last_attempt
    if last is None or last.decided_at is None or situation.state.candidate is not None:
        return None
    asked_for = last.revision == command.revision and last.cause == Reason.ABORTED
    if not asked_for or last.decided_at < command.created:
        return None
    return done(f"{last.revision} is out since {moment(last.ended_at)}")


def _in_spite_of(situation: Situation) -> str:
    """Say that a person promotes what evidence speaks against."""
    paused = situation.candidate.paused
    if paused is None or paused.cause != Reason.OBJECTIVE_FAILED:
        return ""
    return clip(f", in spite of {paused.message}", 200)
