"""The part of a rollout's spec that makes a revision: the model, the engine and its pod.

A change of anything in here starts a rollout; everything else in the spec does not.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from chaffinch.api.v1alpha1.common import (
    LIST_ATOMIC,
    LIST_MAP_BY_NAME,
    MAP_ATOMIC,
    Flag,
    ObjectName,
    ResourceAmount,
    SpecModel,
)

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")
GPU_PRODUCT_LABELS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name")
"""Labels of nodes that tell which GPUs they have, as the vendors' discovery sets them."""
"""The extended resources that count as GPUs."""

# No part of a path is "..", empty, or only dots: nothing leaves the repository or names another host.
_FIRST_PART = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_NEXT_PARTS = r"(/\.?[A-Za-z0-9_-][A-Za-z0-9._-]*)"
MODEL_SOURCE_PATTERN = rf"^({_FIRST_PART}{_NEXT_PARTS}*|{_NEXT_PARTS}+)/?$"
MODEL_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"
MODEL_REVISION_PATTERN = rf"^{_FIRST_PART}{_NEXT_PARTS}*$"
IMAGE_PATTERN = (
    r"^([A-Za-z0-9.-]+(:[0-9]{1,5})?/)?[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(@sha256:[a-f0-9]{64})?$"
)
ENV_NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
LABEL_KEY_PATTERN = r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
GPU_MEMORY_UTILIZATION_PATTERN = r"^(0\.[0-9]?[1-9]|0\.[1-9]0|1|1\.0|1\.00)$"

ModelSource = Annotated[str, StringConstraints(max_length=256, pattern=MODEL_SOURCE_PATTERN)]
ModelName = Annotated[str, StringConstraints(max_length=128, pattern=MODEL_NAME_PATTERN)]
ModelRevision = Annotated[str, StringConstraints(max_length=128, pattern=MODEL_REVISION_PATTERN)]
Image = Annotated[
    str,
    StringConstraints(
        max_length=512,
        pattern=IMAGE_PATTERN,
    ),
]
EnvName = Annotated[str, StringConstraints(max_length=128, pattern=ENV_NAME_PATTERN)]
LabelKey = Annotated[str, StringConstraints(max_length=317, pattern=LABEL_KEY_PATTERN)]
LabelValue = Annotated[
    str, StringConstraints(max_length=63, pattern=r"^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$")
]


class ModelSpec(SpecModel):
    """The model that is served."""

    name: ModelName
    """The name that clients ask for (`model` in their requests)."""
    source: ModelSource
    """Where the engine loads it from: a repository id such as `org/model`, or a path in the image."""
    revision: ModelRevision | None = None
    """Commit, tag or branch of the repository; without it the engine takes the newest."""


class Dtype(StrEnum):
    """Data type of weights and activations."""

    AUTO = "auto"
    HALF = "half"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT = "float"
    FLOAT32 = "float32"


class EngineArgs(SpecModel):
    """Typed arguments of `vllm serve`; each is passed as its kebab-case flag."""

    tensor_parallel_size: Annotated[int, Field(strict=True, ge=1, le=16)] | None = None
    """GPUs that one copy of the model is spread over."""
    data_parallel_size: Annotated[int, Field(strict=True, ge=1, le=16)] | None = None
    """Copies of the model in one pod."""
    max_model_len: Annotated[int, Field(strict=True, ge=1, le=16_777_216)] | None = None
    """Longest prompt plus output, in tokens."""
    max_num_seqs: Annotated[int, Field(strict=True, ge=1, le=65_536)] | None = None
    """Most sequences in one batch."""
    max_num_batched_tokens: Annotated[int, Field(strict=True, ge=1, le=16_777_216)] | None = None
    """Most tokens in one batch."""
    gpu_memory_utilization: (
        Annotated[str, StringConstraints(max_length=4, pattern=GPU_MEMORY_UTILIZATION_PATTERN)] | None
    ) = None
    """Share of the GPU's memory that the engine may take, as text: `"0.90"`."""
    enable_prefix_caching: Flag | None = None
    """Whether the engine keeps the KV cache of prompt prefixes."""
    enforce_eager: Flag | None = None
    """Whether the engine goes without CUDA graphs."""
    quantization: (
        Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9][a-z0-9_.-]*$")] | None
    ) = None
    """Method by which the weights are quantised, such as `awq`."""
    dtype: Dtype | None = None
    """Data type of weights and activations."""
    kv_cache_dtype: (
        Annotated[str, StringConstraints(max_length=32, pattern=r"^[a-z0-9][a-z0-9_]*$")] | None
    ) = None
    """Data type of the KV cache, such as `fp8`."""


class SecretKeyRef(SpecModel):
    """One key of a Secret of the same namespace."""

    name: ObjectName
    """The Secret."""
    key: Annotated[str, StringConstraints(max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]
    """The key in it."""


class EnvSource(SpecModel):
    """Where an environment variable's value comes from."""

    secret_key_ref: SecretKeyRef
    """A key of a Secret."""


class EnvVar(SpecModel):
    """An environment variable of the engine; exactly one of `value` and `valueFrom`."""

    name: EnvName
    """The variable."""
    value: Annotated[str, StringConstraints(max_length=4096)] | None = None
    """Its value."""
    value_from: EnvSource | None = None
    """Where its value comes from."""


class EngineSpec(SpecModel):
    """The inference server: image, arguments, environment."""

    image: Image
    """The engine's image, best with its digest."""
    args: EngineArgs | None = None
    """Typed arguments."""
    extra_args: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1, max_length=1024)], ...],
        Field(max_length=64, json_schema_extra=LIST_ATOMIC),
    ] = ()
    """Further arguments, passed as they are; they may not repeat typed ones."""
    env: Annotated[tuple[EnvVar, ...], Field(max_length=64, json_schema_extra=LIST_MAP_BY_NAME)] = ()
    """Environment variables of the engine's container."""


ResourceMap = Annotated[dict[LabelKey, ResourceAmount], Field(max_length=16, json_schema_extra=MAP_ATOMIC)]


class ResourceSpec(SpecModel):
    """What one engine pod may use and is given."""

    limits: ResourceMap | None = None
    """The most it may use; the GPU limit is tensorParallelSize x dataParallelSize."""
    requests: ResourceMap | None = None
    """What the scheduler sets aside for it."""


class TolerationOperator(StrEnum):
    """How a toleration matches a taint."""

    EXISTS = "Exists"
    EQUAL = "Equal"


class TaintEffect(StrEnum):
    """What a taint does."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(SpecModel):
    """A taint that the engine's pods put up with."""

    key: LabelKey | None = None
    """The taint's key; absent matches every key and needs `Exists`."""
    operator: TolerationOperator | None = None
    """`Equal` when absent."""
    value: LabelValue | None = None
    """The taint's value, for `Equal`."""
    effect: TaintEffect | None = None
    """The taint's effect; absent matches every effect."""
    toleration_seconds: Annotated[int, Field(strict=True, ge=0, le=86_400)] | None = None
    """How long a pod stays after a `NoExecute` taint."""


class ImagePullSecret(SpecModel):
    """A Secret with which images are pulled."""

    name: ObjectName
    """The Secret, in the same namespace."""


class PodSpec(SpecModel):
    """What an engine pod needs besides its engine."""

    resources: ResourceSpec | None = None
    """Limits and requests of the engine's container."""
    node_selector: (
        Annotated[dict[LabelKey, LabelValue], Field(max_length=16, json_schema_extra=MAP_ATOMIC)] | None
    ) = None
    """Labels of the nodes that may run it."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=16, json_schema_extra=LIST_ATOMIC)] = ()
    """Taints that it puts up with."""
    priority_class_name: ObjectName | None = None
    """Its PriorityClass."""
    runtime_class_name: ObjectName | None = None
    """Its RuntimeClass."""
    image_pull_secrets: Annotated[
        tuple[ImagePullSecret, ...], Field(max_length=8, json_schema_extra=LIST_MAP_BY_NAME)
    ] = ()
    """Secrets with which its images are pulled."""
    shm_size: ResourceAmount | None = None
    """Size of `/dev/shm`, which tensor parallelism needs; absent: no volume is mounted there."""
    startup_seconds: Annotated[int, Field(strict=True, ge=5, le=86_400)] | None = None
    """How long the engine may take to become ready before it is restarted; 600 when absent."""
