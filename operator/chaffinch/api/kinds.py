"""The kinds of the API: their names, models, printed columns and subresources."""

from __future__ import annotations

from dataclasses import dataclass

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.command import RolloutCommandSpec, RolloutCommandStatus
from chaffinch.api.v1alpha1.common import SpecModel, StatusModel
from chaffinch.api.v1alpha1.probe import LoadProbeSpec, LoadProbeStatus
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec
from chaffinch.api.v1alpha1.record import RolloutRecordSpec, RolloutRecordStatus
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.status import RolloutStatus


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``.

    Attributes:
        name: Its heading.
        path: Where its value is, as a JSON path.
        type: Its type.
        wide: Whether only ``-o wide`` shows it.
    """

    name: str
    path: str
    type: str = "string"
    wide: bool = False


AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of custom resource.

    Attributes:
        name: Its name, such as InferenceRollout.
        plural: Its name in URLs.
        short: Its short name for kubectl.
        description: What it is, in a sentence.
        spec: The model of its spec.
        status: The model of its status; None for a kind without one.
        columns: What kubectl prints.
        scalable: Whether it has a scale subresource.
        immutable: Why its spec cannot be changed; empty when it can.
    """

    name: str
    plural: str
    short: str
    description: str
    spec: type[SpecModel]
    status: type[StatusModel] | None
    columns: tuple[Column, ...]
    scalable: bool = False
    immutable: str = ""


def _condition(name: str, field: str = "status") -> str:
    return f'.status.conditions[?(@.type=="{name}")].{field}'


KINDS: tuple[Kind, ...] = (
    Kind(
        name="InferenceRollout",
        plural="inferencerollouts",
        short="iro",
        description="A served model, whose new versions are rolled out step by step and judged by evidence.",
        spec=InferenceRolloutSpec,
        status=RolloutStatus,
        columns=(
            Column("Phase", ".status.phase"),
            Column("Step", ".status.rollout.step.name"),
            Column("Weight", ".status.traffic.weight.percent"),
            Column("Stable", ".status.stable.revision"),
            Column("Ready", _condition("Ready")),
            Column("Reason", _condition("Ready", "reason")),
            AGE,
            Column("Candidate", ".status.candidate.revision", wide=True),
            Column("Replicas", ".spec.replicas", "integer", wide=True),
            Column("Image", ".spec.engine.image", wide=True),
            Column("Message", _condition("Ready", "message"), wide=True),
        ),
        scalable=True,
    ),
    Kind(
        name="InferenceBaseline",
        plural="inferencebaselines",
        short="ibl",
        description="A frozen, versioned measurement that new versions are held to.",
        spec=InferenceBaselineSpec,
        status=None,
        columns=(
            Column("Version", ".spec.version"),
            Column("Model", ".spec.model.name"),
            Column("Engine", ".spec.fingerprint.engineVersion"),
            Column("GPU", ".spec.fingerprint.gpuProduct"),
            Column("GPUs", ".spec.fingerprint.gpuCount", "integer"),
            AGE,
            Column("Digest", ".spec.digest", wide=True),
        ),
        immutable="a baseline is frozen: create another version instead",
    ),
    Kind(
        name="LoadProbe",
        plural="loadprobes",
        short="lpr",
        description="One run of a load profile against a revision of a rollout, and what it measured.",
        spec=LoadProbeSpec,
        status=LoadProbeStatus,
        columns=(
            Column("Rollout", ".spec.target.rollout"),
            Column("Revision", ".spec.target.revision"),
            Column("Profile", ".spec.profile"),
            Column("Phase", ".status.phase"),
            Column("Stage", ".status.progress.stage"),
            Column("Requests", ".status.progress.requests", "integer"),
            AGE,
        ),
        immutable="a load probe is one run: create another instead",
    ),
    Kind(
        name="ProbeProfile",
        plural="probeprofiles",
        short="ppf",
        description="A reusable load: warm-up, stages, lengths of prompts and answers.",
        spec=ProbeProfileSpec,
        status=None,
        columns=(
            Column("Gate", ".spec.gateStage"),
            AGE,
        ),
    ),
    Kind(
        name="RolloutCommand",
        plural="rolloutcommands",
        short="rcmd",
        description="What a person asks of a rollout: abort, promote, approve, pause, resume or retry.",
        spec=RolloutCommandSpec,
        status=RolloutCommandStatus,
        columns=(
            Column("Rollout", ".spec.rollout"),
            Column("Action", ".spec.action"),
            Column("Revision", ".spec.revision"),
            Column("By", ".spec.requestedBy"),
            Column("Outcome", ".status.outcome"),
            Column("Reason", ".status.reason"),
            AGE,
            Column("Message", ".status.message", wide=True),
        ),
        immutable="a command is given once: create another instead",
    ),
    Kind(
        name="RolloutRecord",
        plural="rolloutrecords",
        short="rrec",
        description="What is kept of one attempt of a rollout: what was tried, judged, decided, and by whom.",
        spec=RolloutRecordSpec,
        status=RolloutRecordStatus,
        columns=(
            Column("Rollout", ".spec.rollout"),
            Column("Attempt", ".spec.attempt", "integer"),
            Column("Revision", ".spec.revision"),
            Column("Outcome", ".status.outcome"),
            Column("Cause", ".status.cause"),
            AGE,
            Column("Message", ".status.message", wide=True),
        ),
        immutable="a record tells what was: it is not changed",
    ),
)
