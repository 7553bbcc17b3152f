"""The base object of the cases, for tests of what makes a revision and what a revision is made of."""

from __future__ import annotations

import copy
from typing import Any

from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec

BASE: dict[str, Any] = {
    "model": {"name": "chat", "source": "example/chat-1b"},
    "engine": {
        "image": "registry.example/engine@sha256:" + "1" * 64,
        "args": {"maxNumSeqs": 64, "tensorParallelSize": 4},
        "extraArgs": ["--seed=1", "--swap-space=2"],
        "env": [{"name": "HF_HOME", "value": "/models"}, {"name": "LEVEL", "value": "info"}],
    },
    "replicas": 4,
    "pod": {
        "resources": {
            "limits": {"cpu": "1000m", "memory": "1024Mi", "nvidia.com/gpu": "4"},
            "requests": {"cpu": "500m"},
        }
    },
    "objectives": [
        {"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "500ms", "maxRegression": "5%"}
    ],
}


def edited(path: str = "", value: object = None) -> InferenceRolloutSpec:
    """Return the base object's spec with the field at a path (names joined by ``|``) set to a value."""
    spec = copy.deepcopy(BASE)
    if path:
        *parents, last = path.split("|")
        target: Any = spec
        for parent in parents:
            target = target[parent]
        target[last] = value
    return parse_rollout({"spec": spec})
