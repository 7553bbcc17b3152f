"""The status of an InferenceRollout: all that the operator remembers, and all that people read.

The rollout's state machine keeps its state here and nowhere else; it is bounded, holds no floats
(measured values are text with a unit) and is written only when something changed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints, computed_field

from chaffinch.api.v1alpha1.attempt_status import (
    Attempt,
    BaselineStatus,
    CandidateStatus,
    LastAttempt,
    RolloutProgress,
)
from chaffinch.api.v1alpha1.command import LastCommand
from chaffinch.api.v1alpha1.common import (
    LIST_ATOMIC,
    LIST_MAP_BY_NAME,
    LIST_MAP_BY_TYPE,
    Condition,
    Count,
    RevisionHash,
    StatusModel,
    Timestamp,
)
from chaffinch.api.v1alpha1.step_status import ObjectiveStatus
from chaffinch.api.v1alpha1.surroundings import PodStormStatus, RouterEditsStatus

MAX_FAILED_REVISIONS = 10

Weight = Annotated[int, Field(strict=True, ge=0, le=10_000)]
"""A share of the traffic in 1/10,000."""


class Phase(StrEnum):
    """The state in one word, derived from the rest; for printing."""

    PROGRESSING = "Progressing"
    HEALTHY = "Healthy"
    PAUSED = "Paused"
    DEGRADED = "Degraded"


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
