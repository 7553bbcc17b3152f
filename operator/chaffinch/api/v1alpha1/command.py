"""A RolloutCommand: what a person asks of a rollout, and the operator's answer.

A command is bound to the revision that the person had in view, so that one that comes too late does
nothing to what came after. It is never changed and answered once; the right to command is the right
to create one.
"""

from __future__ import annotations

from enum import StrEnum

from chaffinch.api.v1alpha1.common import (
    Message,
    Name,
    ObjectName,
    RevisionHash,
    RolloutName,
    ShortText,
    SpecModel,
    StatusModel,
    Timestamp,
    Word,
)


class CommandAction(StrEnum):
    """What is asked for.

    `Abort`: roll the candidate back. `Promote`: let it take over without the steps that are left.
    `Approve`: pass the approval step that it waits at. `Pause` and `Resume`: stay at the step, and go on.
    `Retry`: try a revision again that failed or was aborted, or run again what came to nothing.
    """

    ABORT = "Abort"
    PROMOTE = "Promote"
    APPROVE = "Approve"
    PAUSE = "Pause"
    RESUME = "Resume"
    RETRY = "Retry"


class RolloutCommandSpec(SpecModel):
    """One thing that a person asks for."""

    rollout: RolloutName
    """A rollout of the same namespace."""
    revision: RevisionHash
    """The revision that is meant; a command for another one than the rollout's is refused."""
    action: CommandAction
    """What is asked for."""
    step: Name | None = None
    """`Approve`: the approval step that is meant."""
    reason: ShortText | None = None
    """Why, for those who read the record later."""
    requested_by: ShortText | None = None
    """Who asks: their user name. The chart's admission policy lets nobody name anyone else."""


class CommandOutcome(StrEnum):
    """The operator's answer."""

    ACCEPTED = "Accepted"
    REFUSED = "Refused"


class RolloutCommandStatus(StatusModel):
    """The operator's answer."""

    outcome: CommandOutcome | None = None
    """Whether it was done."""
    reason: Word | None = None
    """Why: a reason."""
    message: Message | None = None
    """Why, for people, and what can be done instead."""
    at: Timestamp | None = None
    """When it was answered."""


class LastCommand(StatusModel):
    """The command that was answered last."""

    name: ObjectName
    """The RolloutCommand."""
    uid: Word
    """Its uid."""
    action: CommandAction
    """What was asked for."""
    revision: RevisionHash
    """Of which revision."""
    by: ShortText | None = None
    """Who asked."""
    note: ShortText | None = None
    """Why they asked."""
    at: Timestamp
    """When it was answered."""
    outcome: CommandOutcome
    """Whether it was done."""
    reason: Word
    """Why: a reason."""
    message: Message
    """Why, for people."""
