"""A probe's result and what is frozen of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from chaffinch.api.v1alpha1.baseline import BaselineReference, Fingerprint, InferenceBaselineSpec, Provenance
from chaffinch.api.v1alpha1.engine import ModelSpec
from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.api.v1alpha1.probe import ProbeResult, SelfCheck, StageResult
from chaffinch.api.v1alpha1.profile import (
    Output,
    ProbeProfileSpec,
    Prompt,
    PromptShare,
    Stage,
    WarmUp,
)
from chaffinch.domain import baseline as baselines
from chaffinch.domain.grid import OVERFLOW

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
PROFILE = ProbeProfileSpec(
    warm_up=WarmUp(requests=10, concurrency=2),
    stages=(
        Stage(name="one", concurrency=1, requests=20, timeout="5m"),
        Stage(name="gate", concurrency=4, requests=200, timeout="5m"),
    ),
    gate_stage="gate",
    prompt=Prompt(mix=(PromptShare(tokens=64, share="90%"), PromptShare(tokens=512, share="10%"))),
    output=Output(tokens=16),
    request_timeout="30s",
)
MODEL = ModelSpec(name="chat", source="example/chat-1b", revision="abc")
FINGERPRINT = Fingerprint(
    engine_image="registry.example/engine@sha256:" + "a" * 64,
    engine_version="0.33.0",
    engine_args=("--max-num-seqs", "64"),
    gpu_product="H100",
    gpu_count=1,
    replicas=2,
)
PROVENANCE = Provenance(rollout="chat", revision="58be2a01", probe="chat-58be2a01-a1-s0", created_at=NOW)
REFERENCE = BaselineReference(name="chat-h100", version="v1")


def stage(name: str = "gate", **changes: object) -> StageResult:
    requests = {"one": 20, "gate": 200}[name]
    values: dict[str, object] = {
        "name": name,
        "concurrency": {"one": 1, "gate": 4}[name],
        "requests": requests,
        "errors": 0,
        "errors_by_kind": {},
        "prompt_tokens": 100 * requests,
        "output_tokens": 16 * requests,
        "duration_millis": 60_000,
        "complete": True,
        "sketches": sketches(requests),
        "self_check": SelfCheck(passed=True),
    }
    return StageResult.model_validate(values | changes)


def sketches(requests: int, errors: int = 0) -> Sketches:
    failed = f" {OVERFLOW}:{errors}" if errors else ""
    return Sketches(
        ttft=f"180:{requests - errors}{failed}", e2e=f"240:{requests - errors}{failed}", tpot=f"90:{requests}"
    )


RESULT = ProbeResult(engine_version="0.33.0", stages=(stage("one"), stage("gate")))


def frozen(result: ProbeResult = RESULT) -> InferenceBaselineSpec:
    return baselines.freeze(
        REFERENCE,
        model=MODEL,
        fingerprint=FINGERPRINT,
        profile=PROFILE,
        result=result,
        provenance=PROVENANCE,
    )


def as_json(spec: InferenceBaselineSpec) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(spec.model_dump_json(by_alias=True, exclude_none=True))
    return content
