"""The spec of an InferenceBaseline: a frozen, versioned measurement."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from chaffinch.api.v1alpha1.common import (
    LIST_ATOMIC,
    LIST_MAP_BY_NAME,
    Name,
    ObjectName,
    RevisionHash,
    RolloutName,
    SpecModel,
    Timestamp,
)
from chaffinch.api.v1alpha1.engine import ModelSpec
from chaffinch.api.v1alpha1.measurement import StageMeasurement
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec

BASELINE_VERSION_PATTERN = r"^[a-z0-9]+(\.[a-z0-9]+)*$"

BaselineVersion = Annotated[str, StringConstraints(max_length=32, pattern=BASELINE_VERSION_PATTERN)]
"""A version such as ``v2.4.1``: without dashes, so that ``<name>-<version>`` can be told apart."""


class BaselineReference(SpecModel):
    """A frozen baseline of the same namespace: the object `<name>-<version>`."""

    name: Name
    """Name of the baseline."""
    version: BaselineVersion
    """Version of the baseline."""


class Fingerprint(SpecModel):
    """What must be equal for two measurements to be comparable."""

    engine_image: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    """Image of the engine."""
    engine_version: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    """Version that the engine reported."""
    engine_args: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=1024)], ...],
        Field(max_length=128, json_schema_extra=LIST_ATOMIC),
    ]
    """Arguments of the engine."""
    gpu_product: Annotated[str, StringConstraints(max_length=128)]
    """GPU product that the pods ask for by their node selector; empty if they take any."""
    gpu_count: Annotated[int, Field(strict=True, ge=0, le=256)]
    """GPUs per pod."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=64)]
    """Pods that were measured."""


class Provenance(SpecModel):
    """Where the measurement came from."""

    rollout: RolloutName
    """The rollout."""
    revision: RevisionHash
    """The revision."""
    probe: ObjectName
    """The LoadProbe."""
    created_at: Timestamp
    """When it was frozen."""


class InferenceBaselineSpec(SpecModel):
    """A frozen measurement; it cannot be changed, only replaced by another version."""

    name: Name
    """Name of the baseline; with the version it makes the object's name."""
    version: BaselineVersion
    """Version of the baseline; the label `baseline_version` in metrics."""
    model: ModelSpec
    """The model that was measured."""
    fingerprint: Fingerprint
    """What must be equal for a comparison."""
    profile: ProbeProfileSpec
    """The load, whole, as it was run."""
    stages: Annotated[
        tuple[StageMeasurement, ...], Field(min_length=1, max_length=8, json_schema_extra=LIST_MAP_BY_NAME)
    ]
    """What each stage measured."""
    gate_stage: Name
    """The stage that verdicts are reached from."""
    provenance: Provenance
    """Where the measurement came from."""
    digest: Annotated[str, StringConstraints(max_length=71, pattern=r"^sha256:[0-9a-f]{64}$")]
    """SHA-256 of the canonical content."""
