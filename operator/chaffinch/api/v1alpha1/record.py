"""A RolloutRecord: what is kept of one attempt, for those who ask later what happened and why.

It is written while the attempt runs and is left alone afterwards. Nothing is decided from it: losing a
record loses a report and no verdict.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from chaffinch.api.v1alpha1.attempt_status import PLAN_MAX_LENGTH, BaselineStatus, Outcome
from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome
from chaffinch.api.v1alpha1.common import (
    LIST_ATOMIC,
    Count,
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
from chaffinch.api.v1alpha1.status import Weight
from chaffinch.api.v1alpha1.step_status import ObjectiveStatus

FROZEN_SPEC_MAX_LENGTH = 65_536
MAX_RECORDED_HOLDS = 32
MAX_RECORDED_COMMANDS = 32


class RolloutRecordSpec(SpecModel):
    """What the attempt began with."""

    rollout: RolloutName
    """The rollout."""
    rollout_uid: Word
    """Its uid: a later rollout of the same name is another one."""
    revision: RevisionHash
    """The revision that was tried."""
    attempt: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]
    """The attempt's number."""
    stable: RevisionHash | None = None
    """The revision that served when it began; absent for the first."""
    started_at: Timestamp
    """When it began."""
    frozen: Annotated[str, StringConstraints(max_length=FROZEN_SPEC_MAX_LENGTH)]
    """What makes the revision, as canonical JSON: model, engine, pod."""
    plan: Annotated[str, StringConstraints(max_length=PLAN_MAX_LENGTH)]
    """What the attempt was held to, as JSON: objectives, steps, deadline, baseline."""


class StepKind(StrEnum):
    """What a step does."""

    WARM_UP = "warmUp"
    PROBE = "probe"
    CANARY = "canary"
    APPROVAL = "approval"
    BAKE = "bake"


class RecordedStep(StatusModel):
    """One step that the attempt entered."""

    name: Name
    """The step."""
    kind: StepKind
    """What it does."""
    index: Count
    """Its place among the steps, counted from 0."""
    weight: Weight
    """The candidate's share of the traffic, in 1/10,000."""
    entered_at: Timestamp
    """When it was entered."""
    acknowledged_at: Timestamp | None = None
    """When its clock began to run (last)."""
    passed_at: Timestamp | None = None
    """When it was passed."""
    restarts: Count | None = None
    """How many times it was begun anew because pods were lost."""
    restarted_at: Timestamp | None = None
    """When it was last begun anew."""
    objectives: Annotated[
        tuple[ObjectiveStatus, ...], Field(max_length=16, json_schema_extra=LIST_ATOMIC)
    ] = ()
    """The last figures and verdict of each objective."""


class RecordedHold(StatusModel):
    """A time during which the attempt waited."""

    reason: Word
    """Why: a reason."""
    since: Timestamp
    """Since when."""
    until: Timestamp | None = None
    """Until when; absent while it waits."""
    step: Name | None = None
    """The step that it was at."""
    message: Message
    """What was missing, in words."""


class RecordedCommand(StatusModel):
    """A command that was given during the attempt, and its answer."""

    name: ObjectName
    """The RolloutCommand."""
    action: CommandAction
    """What was asked for."""
    by: ShortText | None = None
    """Who asked."""
    reason: ShortText | None = None
    """Why they asked."""
    at: Timestamp
    """When it was answered."""
    outcome: CommandOutcome
    """Whether it was done."""
    message: Message
    """Why, or why not."""


class RolloutRecordStatus(StatusModel):
    """What came of the attempt."""

    outcome: Outcome | None = None
    """How it ended; absent while it runs."""
    cause: Word | None = None
    """Why: a reason."""
    message: Message | None = None
    """The evidence, in words."""
    decided_at: Timestamp | None = None
    """When its end was decided."""
    ended_at: Timestamp | None = None
    """When it ended."""
    baseline: BaselineStatus | None = None
    """The baseline that it was held to."""
    steps: Annotated[tuple[RecordedStep, ...], Field(max_length=12, json_schema_extra=LIST_ATOMIC)] = ()
    """The steps that it entered, in order."""
    holds: Annotated[
        tuple[RecordedHold, ...], Field(max_length=MAX_RECORDED_HOLDS, json_schema_extra=LIST_ATOMIC)
    ] = ()
    """When and why it waited; of more than fit, the newest."""
    commands: Annotated[
        tuple[RecordedCommand, ...], Field(max_length=MAX_RECORDED_COMMANDS, json_schema_extra=LIST_ATOMIC)
    ] = ()
    """The commands that were given; of more than fit, the newest."""
