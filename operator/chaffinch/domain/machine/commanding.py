"""Carries out what people ask for, one command in a pass, and remembers the answer with what it changes.

Whatever ends an attempt, takes traffic off a candidate or finds that it misses an objective comes before a
command, so that no command makes a pass lose it; a command comes before any progress. It is answered by
what the pass sees and never latched: one that cannot be carried out now is refused and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome
from chaffinch.api.v1alpha1.reasons import CommandReason, Reason
from chaffinch.domain.commands import AnsweredCommand, Command
from chaffinch.domain.machine import obeying, retrying
from chaffinch.domain.machine.answer import Answer
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next, WriteOrder
from chaffinch.domain.state import Pause, RolloutState
from chaffinch.domain.wording import sentences

_ACTIONS: Mapping[CommandAction, Callable[[Situation, Command], Answer]] = {
    CommandAction.ABORT: obeying.abort,
    CommandAction.PROMOTE: obeying.promote,
    CommandAction.APPROVE: obeying.approve,
    CommandAction.PAUSE: obeying.pause,
    CommandAction.RESUME: obeying.resume,
    CommandAction.RETRY: retrying.retry,
}


def with_command(situation: Situation, found: Next) -> Next:
    """Return what a pass comes to if it has a command to deal with, too.

    Args:
        situation: What the pass decides from.
        found: What the stage's checks have made of it.
    """
    command = _unanswered(situation)
    if command is None or (situation.state.is_empty and found.act) or _comes_first(situation, found):
        return found
    if not found.act:
        return _refused(situation, found, command)
    answer = _ACTIONS[command.action](situation, command)
    following = answer.following or found
    answered = _answered(situation, command, answer)
    return replace(following, state=replace(following.state, last_command=answered))


def _unanswered(situation: Situation) -> Command | None:
    """Return the oldest command, unless it has its answer and only has not been told it."""
    commands, last = situation.seen.commands, situation.state.last_command
    if not commands or (last is not None and last.uid == commands[0].uid):
        return None
    return commands[0]


def _refused(situation: Situation, found: Next, command: Command) -> Next:
    """Answer a command while nothing may be written before a person has helped: it must not wait for that.

    What takes nothing but a route is not kept waiting: a pass that comes to it looks at no other object.
    """
    reason = found.state.hold.reason if situation.state.is_empty and found.state.hold else Reason.NAME_TAKEN
    message = f"The rollout stands still ({reason}). See to that, then create another command"
    answer = Answer(CommandReason.STALLED, message)
    if not situation.state.is_empty:
        moving = _ACTIONS[command.action](situation, command)
        if moving.following is None:
            answer = moving
        elif moving.following.order is WriteOrder.ROUTE_FIRST:
            return found
    state = replace(found.state, last_command=_answered(situation, command, answer))
    return replace(found, state=state, requeue_after=situation.timing.active)


def _comes_first(situation: Situation, found: Next) -> bool:
    before, after = situation.state, found.state
    ends = after.stage in {RolloutStage.IDLE, RolloutStage.ROLLING_BACK} and after.stage is not before.stage
    paused, was_paused = _pause_of(after), _pause_of(before)
    pauses = paused is not None and paused != was_paused
    return ends or pauses or found.order is WriteOrder.ROUTE_FIRST


def _pause_of(state: RolloutState) -> Pause | None:
    return None if state.candidate is None else state.candidate.paused


def _answered(situation: Situation, command: Command, answer: Answer) -> AnsweredCommand:
    done = answer.reason is CommandReason.DONE
    return AnsweredCommand(
        name=command.name,
        uid=command.uid,
        action=command.action,
        revision=command.revision,
        by=command.by,
        note=command.note,
        at=situation.now,
        outcome=CommandOutcome.ACCEPTED if done else CommandOutcome.REFUSED,
        reason=answer.reason.value,
        message=sentences(answer.message),
    )
