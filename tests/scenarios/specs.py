"""Rollouts for the stories: small, with short steps, alike but in what a story is about."""

from __future__ import annotations

import copy
from typing import Any

from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec

V1, V2, V3 = ("registry.example/engine@sha256:" + digit * 64 for digit in "123")

STEPS: list[dict[str, Any]] = [
    {"name": "warm-up", "warmUp": {"requests": 20, "concurrency": 4}},
    {"name": "canary-5", "canary": {"weight": 5, "for": "60s"}},
    {"name": "canary-25", "canary": {"weight": 25, "for": "60s"}},
    {"name": "canary-50", "canary": {"weight": 50, "for": "60s"}},
    {"name": "bake", "bake": {"for": "60s"}},
]

_SPEC: dict[str, Any] = {
    "model": {"name": "chat", "source": "example/chat-1b"},
    "engine": {"image": V1, "args": {"maxNumSeqs": 64}},
    "replicas": 4,
    "pod": {"resources": {"limits": {"nvidia.com/gpu": "1"}}},
    "objectives": [
        {"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "500ms", "maxRegression": "5%"},
        {"name": "errors", "metric": "errorRate", "max": "2%", "maxIncrease": "0.5pp"},
    ],
    "strategy": {"progressDeadline": "300s", "steps": STEPS},
}


def rollout_spec(image: str = V1, **changes: object) -> InferenceRolloutSpec:
    """Return the spec of the stories' rollout with another image, and with changes to its fields."""
    spec = copy.deepcopy(_SPEC)
    spec["engine"]["image"] = image
    spec.update(changes)
    return parse_rollout({"spec": spec})


def with_steps(*steps: dict[str, Any], deadline: str = "300s") -> dict[str, Any]:
    """Return a strategy for :func:`rollout_spec`."""
    return {"progressDeadline": deadline, "steps": list(steps)}


SHORT = with_steps(
    STEPS[0],
    {"name": "canary-50", "canary": {"weight": 50, "for": "20s"}},
    {"name": "bake", "bake": {"for": "20s"}},
)
"""A strategy for stories that are about what comes after its steps."""
