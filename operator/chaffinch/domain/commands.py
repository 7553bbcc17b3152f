"""What people ask of a rollout, and what they are answered.

A command is carried out at most once. Its answer is recorded in the rollout's status together with what it
changes, and only then written into the command's own status: after a crash between the two the answer is
given again and nothing is done again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome


@dataclass(frozen=True, slots=True)
class Command:
    """A RolloutCommand that has not been answered.

    Attributes:
        name: The object's name.
        uid: Its uid.
        action: What is asked for.
        revision: The revision that is meant.
        step: The approval step that is meant, with Approve.
        by: Who asks, if they say so.
        note: Why they ask, if they say so.
        created: When it was made.
    """

    name: str
    uid: str
    action: CommandAction
    revision: str
    created: datetime
    step: str | None = None
    by: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class AnsweredCommand:
    """A command with its answer.

    Attributes:
        name: The object's name.
        uid: Its uid.
        action: What was asked for.
        revision: The revision that was meant.
        by: Who asked, if they said so.
        note: Why they asked, if they said so.
        at: When it was answered.
        outcome: Whether it was done.
        reason: Why: a reason of the API (:class:`~chaffinch.api.v1alpha1.reasons.CommandReason`).
        message: Why, for people.
    """

    name: str
    uid: str
    action: CommandAction
    revision: str
    by: str | None
    note: str | None
    at: datetime
    outcome: CommandOutcome
    reason: str
    message: str
