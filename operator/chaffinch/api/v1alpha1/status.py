"""The status of an InferenceRollout: all that the operator remembers, and all that people read.

The rollout's state machine keeps its state here and nowhere else; it is bounded, holds no floats
(measured values are text with a unit) and is written only when something changed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints, computed_field

from chaffinch.api.v1alpha1.command import LastCommand
from chaffinch.api.v1alpha1.common import (
    LIST_ATOMIC,
    LIST_MAP_BY_NAME,
    LIST_MAP_BY_TYPE,
    Condition,
    Count,
    Message,
    Name,
    ObjectName,
    RevisionHash,
    ShortText,
    StatusModel,
    Timestamp,
    Word,
)
from chaffinch.api.v1alpha1.rollout import Require
from chaffinch.api.v1alpha1.surroundings import PodStormStatus, RouterEditsStatus

MAX_FAILED_REVISIONS = 10
JUDGE_STATE_MAX_LENGTH = 8192
PLAN_MAX_LENGTH = 16384

Weight = Annotated[int, Field(strict=True, ge=0, le=10_000)]
"""A share of the traffic in 1/10,000."""
Attempt = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]


class Phase(StrEnum):
    """The state in one word, derived from the rest; for printing."""

    PROGRESSING = "Progressing"
    HEALTHY = "Healthy"
    PAUSED = "Paused"
    DEGRADED = "Degraded"


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


class ObjectiveVerdict(StrEnum):
    """What the evidence says of one objective."""

    PASS = "Pass"  # noqa: S105 - a verdict, no password
    FAIL = "Fail"
    INCONCLUSIVE = "Inconclusive"


class Writer(StatusModel):
    """Who wrote the status last; the next write is refused unless it knows this one."""

    epoch: Count
    """Term of the operator's lease."""
    sequence: Count
    """Number of the write."""


class StableStatus(StatusModel):
    """The revision that serves."""

    revision: RevisionHash
    """Its hash."""
    since: Timestamp
    """When it became stable."""
    replicas: Count
    """Pods that it should have."""
    ready: Count
    """Pods of it that are ready."""


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


class StepStatus(StatusModel):
    """The step that the rollout is at."""

    name: Name
    """Name of the step."""
    index: Count
    """Its place among the steps, counted from 0."""
    of: Count
    """How many steps there are."""
    require: Require | None = None
    """The evidence that is needed to go on, where the step gathers any."""
    entered_at: Timestamp
    """When the step was entered first."""
    restarted_at: Timestamp | None = None
    """When it was last begun anew because pods were lost."""
    acknowledged_at: Timestamp | None = None
    """When all routers had acknowledged the step's weight; its time runs from here."""
    earliest_end: Timestamp | None = None
    """When its minimum time is over."""
    passed_at: Timestamp | None = None
    """When it was passed; its weight stays until the next step's pods are warm."""
    run: Count | None = None
    """Which run of its load probe this is, from 1."""
    runs_before: Count | None = None
    """How many of those runs came before a person's `Retry`; they count as failures no more."""
    judge: Annotated[str, StringConstraints(max_length=JUDGE_STATE_MAX_LENGTH)] | None = None
    """What the judge remembers of the looks that it has taken, in its own words."""


class HoldStatus(StatusModel):
    """Why the rollout waits at its step."""

    reason: Word
    """The reason."""
    since: Timestamp
    """Since when."""
    deadline: Timestamp | None = None
    """When waiting ends."""
    message: Message | None = None
    """What is missing, in words."""


class PauseStatus(StatusModel):
    """Why the rollout stays at its step until a person says otherwise."""

    since: Timestamp
    """Since when."""
    cause: Word
    """Why: `Commanded` by a person, or the reason for which it asks for one."""
    by: ShortText | None = None
    """Who paused it."""
    message: Message
    """Why, in words."""


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


class WeightStatus(StatusModel):
    """The canary's share of the traffic, in 1/10,000."""

    step: Weight
    """What the step asks for."""
    desired: Weight
    """What the routers were told."""
    observed: Weight | None = None
    """What the routers counted."""

    @computed_field(json_schema_extra={"maxLength": 8})  # type: ignore[prop-decorator]  # pydantic's own way
    @property
    def percent(self) -> str:
        """What the routers were told, for printing: `5%`."""
        return f"{self.desired / 100:.2f}".rstrip("0").rstrip(".") + "%"


class TrafficStatus(StatusModel):
    """How the traffic is split."""

    sequence: Count
    """Number of the newest route that was written."""
    acknowledged: Count | None = None
    """Number of the newest route that all ready routers have in force."""
    routers: Count | None = None
    """Router pods that are ready."""
    weight: WeightStatus | None = None
    """The canary's share."""


class ArmSamples(StatusModel):
    """How many requests a verdict rests on."""

    candidate: Count
    """The candidate's."""
    stable: Count | None = None
    """The stable revision's, where it was compared with."""


ValueText = Annotated[str, StringConstraints(max_length=32)]
"""A measured value with its unit, such as ``241ms`` or ``0.02%``."""


class ObjectiveStatus(StatusModel):
    """What is known of one objective at the current or last step."""

    name: Name
    """The objective."""
    verdict: ObjectiveVerdict
    """What the evidence says."""
    reason: Word
    """Why: a reason."""
    value: ValueText | None = None
    """The candidate's value."""
    control: ValueText | None = None
    """The stable revision's or the baseline's value."""
    ratio: ValueText | None = None
    """The one divided by the other, such as `1.29`."""
    interval: ValueText | None = None
    """Where the truth lies, such as `1.19..1.41`."""
    limit: ValueText | None = None
    """The limit that it is held to."""
    ruled_out: ValueText | None = None
    """Of a `Pass`, what is proven not to be reached: as near to the limit as the step asks."""
    samples: ArmSamples | None = None
    """How many requests this rests on."""
    eta: Timestamp | None = None
    """When it is looked at next if requests come as they did in this step so far; no verdict is promised."""
    step: Name | None = None
    """The step at which it was judged."""
    message: Message | None = None
    """The same in words."""


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


class RolloutStatus(StatusModel):
    """What the operator knows of a rollout."""

    observed_generation: Count | None = None
    """The generation of the spec that this was said of."""
    phase: Phase | None = None
    """The state in one word."""
    writer: Writer | None = None
    """Who wrote this."""
    replicas: Count | None = None
    """Pods of the revision that `selector` selects; for the scale subresource."""
    selector: Annotated[str, StringConstraints(max_length=256)] | None = None
    """Label selector of the revision that carries the majority of the traffic."""
    stable: StableStatus | None = None
    """The revision that serves."""
    candidate: CandidateStatus | None = None
    """The revision that is being rolled out."""
    rollout: RolloutProgress | None = None
    """The attempt that runs."""
    attempts: Attempt | None = None
    """How many attempts there have been."""
    last_attempt: LastAttempt | None = None
    """The attempt that ended last."""
    last_command: LastCommand | None = None
    """The command that was answered last."""
    failed_revisions: Annotated[
        tuple[RevisionHash, ...], Field(max_length=MAX_FAILED_REVISIONS, json_schema_extra=LIST_ATOMIC)
    ] = ()
    """Revisions that failed and are not tried again by themselves."""
    traffic: TrafficStatus | None = None
    """How the traffic is split."""
    router_edits: RouterEditsStatus | None = None
    """What others have lately changed of the router's objects."""
    pod_storms: Annotated[tuple[PodStormStatus, ...], Field(max_length=2, json_schema_extra=LIST_ATOMIC)] = ()
    """Revisions whose pods nodes turn away one after another."""
    objectives: Annotated[
        tuple[ObjectiveStatus, ...], Field(max_length=16, json_schema_extra=LIST_MAP_BY_NAME)
    ] = ()
    """What is known of each objective."""
    baseline: BaselineStatus | None = None
    """The baseline that the attempt is held to."""
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=16,
            json_schema_extra=LIST_MAP_BY_TYPE,
        ),
    ] = ()
    """The aspects of its state."""
