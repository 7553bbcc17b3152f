"""Frozen baselines as objects."""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.baseline import BaselineReference, Fingerprint, Provenance
from chaffinch.api.v1alpha1.engine import ModelSpec
from chaffinch.api.v1alpha1.probe import ProbeResult
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES
from chaffinch.domain.baseline import freeze
from chaffinch.probe.result import status_result
from fakes.virtual_time import START
from fakes.workers import record


def baseline_object(
    name: str,
    version: str,
    *,
    seconds: float = 0.2,
    model: str = "chat",
    gpu_count: int = 0,
    profile: str = "smoke/v1",
) -> dict[str, Any]:
    """Return the baseline of one pod whose latencies are all the same."""
    result: ProbeResult = status_result(record("uid", seconds=seconds))
    spec = freeze(
        BaselineReference(name=name, version=version),
        model=ModelSpec(name=model, source="example/chat-1b"),
        fingerprint=Fingerprint(
            engine_image="engine:1",
            engine_version="0.32.0",
            engine_args=("serve",),
            gpu_product="",
            gpu_count=gpu_count,
            replicas=1,
        ),
        profile=BUILT_IN_PROFILES[profile],
        result=result,
        provenance=Provenance(rollout="chat", revision="0a1b2c3d", probe="look", created_at=START),
    )
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "InferenceBaseline",
        "metadata": {"namespace": "shop", "name": f"{name}-{version}", "uid": "uid-baseline"},
        "spec": spec.model_dump(mode="json", by_alias=True, exclude_none=True),
    }
