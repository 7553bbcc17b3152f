"""What a command comes to, and the words that answers have in common."""

from __future__ import annotations

from dataclasses import dataclass

from chaffinch.api.v1alpha1.attempt_status import Outcome
from chaffinch.api.v1alpha1.reasons import CommandReason
from chaffinch.domain.commands import Command
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next
from chaffinch.domain.wording import moment


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command comes to.

    Attributes:
        reason: ``Done``, or why it is refused.
        message: What was done; or why not, and what can be done instead.
        following: What the pass does for it; None if it goes on as it would without the command.
    """

    reason: CommandReason
    message: str
    following: Next | None = None


def done(message: str, following: Next | None = None) -> Answer:
    """Return that a command was carried out."""
    return Answer(CommandReason.DONE, message, following)


def who(command: Command) -> str:
    """Say who has given a command."""
    return f"by {command.by}" if command.by else "by a person"


def aborted(command: Command) -> str:
    """Say why an attempt is over that a person has ended."""
    return f"aborted {who(command)}"


def misdirected(situation: Situation, command: Command) -> Answer | None:
    """Refuse a command that is about something else than the revision that is being tried."""
    candidate = situation.state.candidate
    if candidate is None:
        return Answer(CommandReason.NOTHING_TO_DO, f"Nothing is being rolled out. {_of(situation, command)}")
    if candidate.revision == command.revision:
        return None
    message = f"{candidate.revision} is being rolled out, not {command.revision}"
    return Answer(CommandReason.OTHER_REVISION, f"{message}. {_of(situation, command)}")


def decided_already(situation: Situation) -> Answer:
    """Refuse a command that comes after the attempt's end has been decided."""
    candidate = situation.candidate
    what = "being rolled back" if situation.rolls_back else "being promoted"
    why = f": {candidate.decision.message}" if candidate.decision else ""
    return Answer(CommandReason.TOO_LATE, f"{candidate.revision} is {what} already{why}")


def _of(situation: Situation, command: Command) -> str:
    """Say what has become of the revision that a command is about."""
    stable, last = situation.state.stable, situation.state.last_attempt
    if stable is not None and stable.revision == command.revision:
        return f"{command.revision} serves since {moment(stable.since)}"
    if last is not None and last.revision == command.revision and last.outcome is not Outcome.PROMOTED:
        return f"{command.revision} is out since {moment(last.ended_at)}: {last.message}"
    return "" if stable is None else f"{stable.revision} serves"
