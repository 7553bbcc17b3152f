"""Builds rollout objects for tests: a small valid one, changed where a test says so."""

from __future__ import annotations

from typing import Any


def rollout_body(**spec: object) -> dict[str, Any]:
    """Return a valid InferenceRollout in which the given fields of the spec are replaced."""
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "InferenceRollout",
        "metadata": {"name": "chat", "namespace": "llm"},
        "spec": {
            "model": {"name": "chat", "source": "example/chat-7b"},
            "engine": {"image": "vllm/vllm-openai:v0.11.0"},
            "replicas": 4,
            "objectives": [{"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "300ms"}],
            **spec,
        },
    }
