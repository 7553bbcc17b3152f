"""Builds rollout objects and their status for tests: small valid ones, changed where a test says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from chaffinch.api.v1alpha1.attempt_status import CandidateStatus, RolloutProgress, RolloutStage, WarmPod
from chaffinch.api.v1alpha1.common import Condition, ConditionStatus
from chaffinch.api.v1alpha1.reasons import ConditionType, Reason
from chaffinch.api.v1alpha1.status import (
    Phase,
    RolloutStatus,
    StableStatus,
    TrafficStatus,
    WeightStatus,
    Writer,
)
from chaffinch.api.v1alpha1.step_status import StepStatus

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


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


def a_status() -> RolloutStatus:
    """Return the status of a rollout at its second step."""
    return RolloutStatus(
        observed_generation=3,
        phase=Phase.PROGRESSING,
        writer=Writer(epoch=2, sequence=41),
        stable=StableStatus(revision="58be2000", since=NOON, replicas=2, ready=2),
        candidate=CandidateStatus(
            revision="0a1b2c3d", attempt=1, replicas=1, ready=1, warm=(WarmPod(name="chat-x", restarts=1),)
        ),
        rollout=RolloutProgress(
            id="0a1b2c3d-a1",
            stage=RolloutStage.STEPPING,
            started_at=NOON,
            step=StepStatus(name="canary-5", index=1, of=3, entered_at=NOON + timedelta(microseconds=1)),
        ),
        traffic=TrafficStatus(sequence=7, weight=WeightStatus(step=500, desired=500)),
        conditions=(
            Condition(
                type=ConditionType.READY,
                status=ConditionStatus.FALSE,
                reason=Reason.ROLLOUT_IN_PROGRESS,
                message="95 % on 58be2000.",
                observed_generation=3,
                last_transition_time=NOON,
            ),
        ),
    )
