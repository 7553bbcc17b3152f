"""A LoadProbe: one run of a load against one revision, and what it found."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from chaffinch.api.v1alpha1.baseline import BaselineReference
from chaffinch.api.v1alpha1.common import (
    LIST_ATOMIC,
    LIST_MAP_BY_NAME,
    LIST_MAP_BY_TYPE,
    MAP_ATOMIC,
    Condition,
    Count,
    Flag,
    Name,
    ObjectName,
    RolloutName,
    ShortText,
    SpecModel,
    StatusModel,
    Timestamp,
    Word,
)
from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.api.v1alpha1.profile import ProfileReference, WarmUp

STABLE = "Stable"
CANDIDATE = "Candidate"


class ProbeTarget(SpecModel):
    """What is measured."""

    rollout: RolloutName
    """A rollout of the same namespace."""
    revision: Annotated[str, StringConstraints(max_length=9, pattern=r"^(Stable|Candidate|[0-9a-f]{8})$")]
    """Which of its revisions: `Stable`, `Candidate`, or a hash."""
    pods: Annotated[tuple[ObjectName, ...], Field(max_length=64, json_schema_extra=LIST_ATOMIC)] = ()
    """Only these pods of the revision: all are warmed up, one is measured. Any Ready ones when absent."""


class LoadProbeSpec(SpecModel):
    """One run of a load: exactly one of `profile` and `warmUp`."""

    target: ProbeTarget
    """What is measured."""
    profile: ProfileReference | None = None
    """The load: a built-in such as `standard/v1`, or a ProbeProfile of the namespace."""
    warm_up: WarmUp | None = None
    """Only warm the pods up; nothing is measured."""
    attempt: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = None
    """The attempt that the run belongs to; set by the operator."""
    freeze: BaselineReference | None = None
    """Freeze the result as this baseline."""


class ProbePhase(StrEnum):
    """How far a run is."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class ProbeProgress(StatusModel):
    """How far a run is, in numbers."""

    stage: Word
    """The stage that runs."""
    requests: Count
    """Requests of it that are done."""


class SelfCheck(StatusModel):
    """Whether the load generator itself kept up; a stage that failed this is no evidence."""

    passed: Flag
    """Whether it did."""
    problem: ShortText | None = None
    """What it did not keep up with."""


class StageResult(StatusModel):
    """What one stage measured."""

    name: Name
    """The stage."""
    concurrency: Count
    """Clients that each had one request open."""
    requests: Count
    """Requests that ended, well or not."""
    errors: Count
    """Those of them that failed."""
    errors_by_kind: Annotated[dict[Word, Count], Field(max_length=16, json_schema_extra=MAP_ATOMIC)]
    """The failed ones by kind of failure."""
    prompt_tokens: Count
    """Tokens in prompts, as the engine counted them."""
    output_tokens: Count
    """Tokens in answers, as the engine counted them."""
    duration_millis: Count
    """How long the stage took, in milliseconds."""
    complete: Flag
    """Whether the stage sent all its requests before its timeout."""
    sketches: Sketches
    """The latencies."""
    self_check: SelfCheck
    """Whether the load generator itself kept up."""


class ProbeResult(StatusModel):
    """What a run measured."""

    engine_version: ShortText | None = None
    """Version that the engine reported."""
    stages: Annotated[tuple[StageResult, ...], Field(max_length=8, json_schema_extra=LIST_MAP_BY_NAME)] = ()
    """What each stage measured."""


class LoadProbeStatus(StatusModel):
    """How far a run is, and what it found."""

    observed_generation: Count | None = None
    """The generation of the spec that this was said of."""
    phase: ProbePhase | None = None
    """How far the run is."""
    revision: Word | None = None
    """The revision that the target stood for when the run started."""
    pod_uid: Word | None = None
    """The one pod whose result counts."""
    started_at: Timestamp | None = None
    """When the pod started."""
    deadline: Timestamp | None = None
    """When the run is ended, done or not: the timeouts of its load, and time to start and to collect."""
    finished_at: Timestamp | None = None
    """When the run ended."""
    progress: ProbeProgress | None = None
    """How far the run is, in numbers."""
    result: ProbeResult | None = None
    """What it measured."""
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=8,
            json_schema_extra=LIST_MAP_BY_TYPE,
        ),
    ] = ()
    """The aspects of its state."""
