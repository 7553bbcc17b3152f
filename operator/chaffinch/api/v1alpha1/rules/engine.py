"""Rules of the engine and its pod: what would be refused, or run into a wall, later."""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.engine import (
    GPU_RESOURCES,
    EngineArgs,
    EngineSpec,
    EnvVar,
    ResourceSpec,
    TaintEffect,
    Toleration,
    TolerationOperator,
)
from chaffinch.api.v1alpha1.quantities import resource_amount
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.rules.flags import FLAGS, flag_of
from chaffinch.api.v1alpha1.rules.rule import Rule, quoted

RESERVED_FLAGS = (
    # Typed in `args`.
    *(f"--{name.replace('_', '-')}" for name in EngineArgs.model_fields),
    "--no-enable-prefix-caching",
    "--no-enforce-eager",
    "-tp",
    "-dp",
    "-q",
    # Made by the operator from `model` and from its own needs.
    "--model",
    "--served-model-name",
    "--revision",
    "--host",
    "--port",
    "--uds",
    # A second way to say any of these.
    "--config",
    # Would spread an engine over several pods, or over more GPUs than its pod is given.
    "--pipeline-parallel-size",
    "-pp",
    "--data-parallel-size-local",
    "--data-parallel-address",
    "--data-parallel-rank",
    "--data-parallel-start-rank",
    "--nnodes",
    "--node-rank",
    "--master-addr",
    "--headless",
    # Would lock out probes, or speak something else than plain HTTP at the root.
    "--api-key",
    "--root-path",
    "--ssl-keyfile",
    "--ssl-certfile",
    "--ssl-ca-certs",
)
"""Flags that ``extraArgs`` may not hold, not even abbreviated."""

RESERVED_ENV = ("VLLM_API_KEY", "VLLM_HOST_IP", "VLLM_PORT")
"""Environment variables that the operator sets, or that would lock out probes."""
RESERVED_ENV_PREFIX = "CHAFFINCH_"

_STANDARD_RESOURCES = ("cpu", "memory", "ephemeral-storage")


def _size(field: str) -> str:
    args = "self.engine.args"
    return f"(has({args}) && has({args}.{field}) ? {args}.{field} : 1)"


def _gpus(spec: InferenceRolloutSpec) -> int:
    args = spec.engine.args or EngineArgs()
    return (args.tensor_parallel_size or 1) * (args.data_parallel_size or 1)


def _gpu_limit_fits(spec: InferenceRolloutSpec) -> bool:
    limits = (spec.pod.resources.limits if spec.pod and spec.pod.resources else None) or {}
    given = [str(limits[name]) for name in GPU_RESOURCES if name in limits]
    return all(amount == str(_gpus(spec)) for amount in given) if given else _gpus(spec) == 1


def _is_reserved(argument: str) -> bool:
    flag = flag_of(argument)
    return flag != "" and any(reserved.startswith(flag) for reserved in RESERVED_FLAGS)


def _knows(name: str) -> bool:
    return name in _STANDARD_RESOURCES or name.startswith("hugepages-") or "/" in name


def _requests_fit(resources: ResourceSpec) -> bool:
    limits: dict[str, Any] = resources.limits or {}
    return all(
        resource_amount(amount) <= resource_amount(limits[name])
        for name, amount in (resources.requests or {}).items()
        if name in limits
    )


def _gpu_requests_equal_limits(resources: ResourceSpec) -> bool:
    requests, limits = resources.requests or {}, resources.limits or {}
    return all(
        name in limits and str(requests[name]) == str(limits[name])
        for name in GPU_RESOURCES
        if name in requests
    )


def _tolerates_all(toleration: Toleration) -> bool:
    return toleration.operator is TolerationOperator.EXISTS


_GPU_PRODUCT = f"string({_size('tensorParallelSize')} * {_size('dataParallelSize')})"
_LIMITS = "self.pod.resources.limits"
_HAS_LIMITS = f"has(self.pod) && has(self.pod.resources) && has({_LIMITS})"
_GPU_NAMES = quoted(GPU_RESOURCES)

RULES: tuple[Rule[Any], ...] = (
    Rule(
        model=EngineSpec,
        field=".extraArgs",
        message="the first extra argument must be a flag: begin it with a dash",
        cel="!has(self.extraArgs) || size(self.extraArgs) == 0 || self.extraArgs[0].startsWith('-')",
        holds=lambda engine: not engine.extra_args or engine.extra_args[0].startswith("-"),
    ),
    Rule(
        model=EngineSpec,
        field=".extraArgs",
        message="an extra argument repeats one that has a typed field or that the operator sets: "
        "use engine.args or model instead, or leave it out (such as --tensor-parallel-size, "
        "--served-model-name, --host, --port, --api-key)",
        cel=f"!has(self.extraArgs) || {FLAGS}.all(f, !{quoted(RESERVED_FLAGS)}.exists(r, r.startsWith(f)))",
        holds=lambda engine: not any(_is_reserved(argument) for argument in engine.extra_args),
    ),
    Rule(
        model=EngineSpec,
        field=".env",
        message="an environment variable is one that the operator keeps for itself: leave it out "
        f"({', '.join(RESERVED_ENV)} and all that begin with {RESERVED_ENV_PREFIX})",
        cel=f"!has(self.env) || self.env.all(e, !(e.name in {quoted(RESERVED_ENV)}) && "
        f"!e.name.startsWith('{RESERVED_ENV_PREFIX}'))",
        holds=lambda engine: (
            not any(
                variable.name in RESERVED_ENV or variable.name.startswith(RESERVED_ENV_PREFIX)
                for variable in engine.env
            )
        ),
    ),
    Rule(
        model=EnvVar,
        message="an environment variable needs exactly one of value and valueFrom",
        cel="has(self.value) != has(self.valueFrom)",
        holds=lambda variable: (variable.value is None) != (variable.value_from is None),
    ),
    Rule(
        model=ResourceSpec,
        field=".limits",
        message="a resource is cpu, memory, ephemeral-storage, hugepages-<size>, or an extended one "
        "with its domain: write nvidia.com/gpu, not gpu",
        cel=f"!has(self.limits) || self.limits.all(k, k in {quoted(_STANDARD_RESOURCES)} || "
        "k.startsWith('hugepages-') || k.contains('/'))",
        holds=lambda resources: all(_knows(name) for name in resources.limits or {}),
    ),
    Rule(
        model=ResourceSpec,
        field=".requests",
        message="a resource is cpu, memory, ephemeral-storage, hugepages-<size>, or an extended one "
        "with its domain: write nvidia.com/gpu, not gpu",
        cel=f"!has(self.requests) || self.requests.all(k, k in {quoted(_STANDARD_RESOURCES)} || "
        "k.startsWith('hugepages-') || k.contains('/'))",
        holds=lambda resources: all(_knows(name) for name in resources.requests or {}),
    ),
    Rule(
        model=ResourceSpec,
        field=".requests",
        message="a request may not be greater than the limit of the same resource",
        cel="!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) || "
        "!isQuantity(string(self.requests[k])) || !isQuantity(string(self.limits[k])) || "
        "quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",
        holds=_requests_fit,
    ),
    Rule(
        model=ResourceSpec,
        field=".requests",
        message="a GPU request must equal the GPU limit: Kubernetes does not overcommit GPUs",
        cel=f"!has(self.requests) || {_GPU_NAMES}.all(g, !(g in self.requests) || (has(self.limits) && "
        "g in self.limits && string(self.requests[g]) == string(self.limits[g])))",
        holds=_gpu_requests_equal_limits,
    ),
    Rule(
        model=Toleration,
        message="a toleration without a key matches every taint: say so with operator: Exists",
        cel="has(self.key) || (has(self.operator) && self.operator == 'Exists')",
        holds=lambda toleration: toleration.key is not None or _tolerates_all(toleration),
    ),
    Rule(
        model=Toleration,
        message="a toleration with operator: Exists has no value: remove it, or use operator: Equal",
        cel="!has(self.value) || self.value == '' || !has(self.operator) || self.operator != 'Exists'",
        holds=lambda toleration: not toleration.value or not _tolerates_all(toleration),
    ),
    Rule(
        model=Toleration,
        message="tolerationSeconds needs effect: NoExecute",
        cel="!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
        holds=lambda toleration: (
            toleration.toleration_seconds is None or toleration.effect is TaintEffect.NO_EXECUTE
        ),
    ),
    Rule(
        model=InferenceRolloutSpec,
        field=".pod",
        message="the GPU limit in pod.resources.limits must equal engine.args.tensorParallelSize x "
        "dataParallelSize (each 1 when absent); without a GPU limit both must be 1",
        cel=f"{_HAS_LIMITS} && {_GPU_NAMES}.exists(g, g in {_LIMITS}) ? {_GPU_NAMES}.all(g, "
        f"!(g in {_LIMITS}) || string({_LIMITS}[g]) == {_GPU_PRODUCT}) : {_GPU_PRODUCT} == '1'",
        holds=_gpu_limit_fits,
    ),
)
