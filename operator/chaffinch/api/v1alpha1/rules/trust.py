"""Rules that keep an engine what its image and its model make it.

The author of a rollout chooses image and model, and with them the code that runs, in a pod without a token
and without a right. Refused is what would make it run or open anything else: code from a path or a class
that is named in passing, addresses to fetch from or to send to, doors for those who only send requests,
and a secret in clear. A URL and a reference to a Secret from the same author would carry the Secret away;
whoever may write Secrets may give an address in one.
"""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.engine import EngineSpec, EnvVar, PodSpec
from chaffinch.api.v1alpha1.quantities import resource_amount
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.rules.flags import FLAGS, flag_of
from chaffinch.api.v1alpha1.rules.rule import Rule, quoted

REFUSED_FLAGS = (
    # Import a class or a file that is named here.
    "--tool-parser-plugin",
    "--reasoning-parser-plugin",
    "--middleware",
    "--worker-cls",
    "--worker-extension-cls",
    "--scheduler-cls",
    # Let those who send requests read files of the pod, or name code to load.
    "--allowed-local-media-path",
    "--logits-processor-pattern",
    # A secret in clear: everyone who may read rollouts reads it.
    "--hf-token",
)
"""Flags that ``extraArgs`` may not hold, not even abbreviated."""

WHOLE_FLAGS = ("--reasoning-parser",)
"""Flags of their own that only look like an abbreviation of a refused one."""

REFUSED_ENV = (
    # Load other code before, or instead of, the engine's.
    "LD_PRELOAD",
    "LD_AUDIT",
    "PATH",
    "BASH_ENV",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    # Open doors for those who send requests: to reset, to profile, to load adapters, to unpickle.
    "VLLM_SERVER_DEV_MODE",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING",
    "VLLM_ALLOW_INSECURE_SERIALIZATION",
    "VLLM_TORCH_PROFILER_DIR",
)
"""Environment variables that no engine is given."""

PROXIES = ("http_proxy", "https_proxy", "all_proxy")
"""Environment variables whose value is an address, whether it is written as a URL or not; in lower case."""

LARGEST_SHARED_MEMORY = "1Ti"

_TRUST = "--trust-remote-code"
_COMMIT = "^[0-9a-f]{40}$"


def _is_refused(argument: str) -> bool:
    flag = flag_of(argument)
    return flag not in ("", *WHOLE_FLAGS) and any(refused.startswith(flag) for refused in REFUSED_FLAGS)


def _trusts_only_what_is_pinned(spec: InferenceRolloutSpec) -> bool:
    flags = (flag_of(argument) for argument in spec.engine.extra_args)
    trusts = any(len(flag) > 2 and _TRUST.startswith(flag) for flag in flags)
    revision = spec.model.revision or ""
    is_commit = len(revision) == 40 and set(revision) <= set("0123456789abcdef")
    return not trusts or spec.model.source.startswith("/") or is_commit


def _is_proxy_in_clear(variable: EnvVar) -> bool:
    return variable.value is not None and variable.name.lower() in PROXIES


RULES: tuple[Rule[Any], ...] = (
    Rule(
        model=EngineSpec,
        field=".extraArgs",
        message="an extra argument would load code by its name, open files to clients, or show a secret: "
        f"leave it out ({', '.join(REFUSED_FLAGS)}); build code into the image, give a token by a Secret",
        cel=f"!has(self.extraArgs) || {FLAGS}.all(f, f in {quoted(WHOLE_FLAGS)} || "
        f"!{quoted(REFUSED_FLAGS)}.exists(r, r.startsWith(f)))",
        holds=lambda engine: not any(_is_refused(argument) for argument in engine.extra_args),
    ),
    Rule(
        model=EngineSpec,
        field=".extraArgs",
        message="an extra argument holds a URL; URLs are not allowed: give the address by an environment "
        "variable from a Secret, or put what is there into the image",
        cel="!has(self.extraArgs) || !self.extraArgs.exists(a, a.contains('://'))",
        holds=lambda engine: not any("://" in argument for argument in engine.extra_args),
    ),
    Rule(
        model=EngineSpec,
        field=".env",
        message="an environment variable would load other code into the engine, or open it to its clients: "
        f"leave it out ({', '.join(REFUSED_ENV)})",
        cel=f"!has(self.env) || !self.env.exists(e, e.name in {quoted(REFUSED_ENV)})",
        holds=lambda engine: not any(variable.name in REFUSED_ENV for variable in engine.env),
    ),
    Rule(
        model=EnvVar,
        field=".value",
        message="URLs and proxies are not allowed in clear: give the address by valueFrom, from a Secret",
        cel="!has(self.value) || !(self.value.contains('://') || "
        f"self.name.lowerAscii() in {quoted(PROXIES)})",
        holds=lambda variable: "://" not in (variable.value or "") and not _is_proxy_in_clear(variable),
    ),
    Rule(
        model=PodSpec,
        field=".priorityClassName",
        message="the priority classes that begin with system- belong to the cluster: name another",
        cel="!has(self.priorityClassName) || !self.priorityClassName.startsWith('system-')",
        holds=lambda pod: not (pod.priority_class_name or "").startswith("system-"),
    ),
    Rule(
        model=PodSpec,
        field=".shmSize",
        message=f"shared memory is memory of the node: at most {LARGEST_SHARED_MEMORY}",
        cel="!has(self.shmSize) || !isQuantity(string(self.shmSize)) || "
        f"quantity(string(self.shmSize)).compareTo(quantity('{LARGEST_SHARED_MEMORY}')) <= 0",
        holds=lambda pod: (
            pod.shm_size is None or resource_amount(pod.shm_size) <= resource_amount(LARGEST_SHARED_MEMORY)
        ),
    ),
    Rule(
        model=InferenceRolloutSpec,
        field=".model.revision",
        message="--trust-remote-code runs code of the model's repository: pin it by its commit, "
        "40 hexadecimal digits, so that no other code can come under the same revision",
        cel="!has(self.engine.extraArgs) || self.model.source.startsWith('/') || "
        f"(has(self.model.revision) && self.model.revision.matches('{_COMMIT}')) || "
        "!self.engine.extraArgs.exists(a, size(a) > 2 && a.startsWith('-') && "
        f"'{_TRUST}'.startsWith(a.find('^[^=]*').replace('_', '-')))",
        holds=_trusts_only_what_is_pinned,
    ),
)
