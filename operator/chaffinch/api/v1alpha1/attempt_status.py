"""The part of a rollout's status that tells of its attempt: the one that runs, and the one that ended last.

Both outlive the operator in it: what was decided about a candidate is written before it is acted on.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from chaffinch.api.v1alpha1.common import (
    LIST_ATOMIC,
    Count,
    Message,
    ObjectName,
    RevisionHash,
    StatusModel,
    Timestamp,
    Word,
)
from chaffinch.api.v1alpha1.step_status import HoldStatus, PauseStatus, StepStatus

PLAN_MAX_LENGTH = 16384
Attempt = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]


class RolloutStage(StrEnum):
    """Where the state machine is."""

    IDLE = "Idle"
    DEPLOYING = "Deploying"
    STEPPING = "Stepping"
    PROMOTING = "Promoting"
    ROLLING_BACK = "RollingBack"


class DecisionKind(StrEnum):
    """What was decided about the candidate."""

    PROMOTE = "Promote"
    ROLLBACK = "Rollback"
    PAUSE = "Pause"


class Outcome(StrEnum):
    """How an attempt ended.

    `Unknown`: the rollout's status was lost before the end was recorded; only records say so.
    """

    PROMOTED = "Promoted"
    ROLLED_BACK = "RolledBack"
    SUPERSEDED = "Superseded"
    UNKNOWN = "Unknown"


class WarmPod(StatusModel):
    """A pod that was warmed up; its container is cold again after a restart."""

    name: Annotated[str, StringConstraints(max_length=63)]
    """The pod."""
    restarts: Count
    """Restarts of its container when it was warmed."""


WarmPods = Annotated[tuple[WarmPod, ...], Field(max_length=64, json_schema_extra=LIST_ATOMIC)]


class WarmUpStatus(StatusModel):
    """The warm-up that runs."""

    serial: Count
    """Which one of the attempt it is, from 1."""
    pods: WarmPods
    """The pods that it warms."""
    failures: Count | None = None
    """How many warm-ups of the same pods failed before it."""


class CandidateStatus(StatusModel):
    """The revision that is being rolled out."""

    revision: RevisionHash
    """Its hash."""
    attempt: Attempt
    """The attempt that it is in."""
    replicas: Count
    """Pods that it should have."""
    ready: Count
    """Pods of it that are ready."""
    warm: WarmPods = ()
    """Its pods that are warmed up; only these get traffic."""
    warm_up: WarmUpStatus | None = None
    """The warm-up that runs."""
    warm_ups: Count | None = None
    """How many warm-ups the attempt has started."""


class DecisionStatus(StatusModel):
    """What was decided about the candidate; written before it is acted on."""

    kind: DecisionKind
    """What was decided; `Pause`, which ends no attempt, after a miss if `onFailure` is `Pause`."""
    cause: Word
    """Why: a reason."""
    at: Timestamp
    """When."""
    message: Message | None = None
    """The evidence, in words."""
    command: ObjectName | None = None
    """The RolloutCommand by which a person decided it; absent if nobody did."""


class RolloutProgress(StatusModel):
    """The attempt that runs."""

    id: Word
    """Its identity: revision and attempt."""
    stage: RolloutStage
    """Where it is."""
    started_at: Timestamp
    """When it started."""
    deadline: Timestamp | None = None
    """When its pods must be ready and warm."""
    step: StepStatus | None = None
    """The step that it is at."""
    hold: HoldStatus | None = None
    """Why it waits, when it does."""
    paused: PauseStatus | None = None
    """Why it stays at its step until a person says otherwise, when it does."""
    decision: DecisionStatus | None = None
    """What was decided about the candidate."""
    record: ObjectName | None = None
    """The RolloutRecord in which what becomes of the attempt is kept."""
    plan: Annotated[str, StringConstraints(max_length=PLAN_MAX_LENGTH)] | None = None
    """What was frozen when it started: objectives, steps and deadline, as JSON."""


class BaselineStatus(StatusModel):
    """The baseline that the attempt is held to, pinned when it started."""

    name: Word
    """Name of the object."""
    uid: Word
    """Its uid."""
    digest: Annotated[str, StringConstraints(max_length=71)]
    """The digest of its content."""


class LastAttempt(StatusModel):
    """The attempt that ended last."""

    revision: RevisionHash
    """Its revision."""
    attempt: Attempt
    """Its number."""
    outcome: Outcome
    """How it ended."""
    cause: Word
    """Why: a reason."""
    at: Timestamp
    """When."""
    decided_at: Timestamp | None = None
    """When that was decided; `at` comes after it by what it took until all routers followed."""
    again_at: Timestamp | None = None
    """When the revision is tried again by itself, if it is."""
    message: Message
    """The evidence, in words."""
