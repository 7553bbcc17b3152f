"""The result that a probe worker has of a plan when every request takes the same time and none fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.api.v1alpha1.probe import SelfCheck
from chaffinch.api.v1alpha1.profile import Stage
from chaffinch.domain import grid
from chaffinch.probe.plan import ProbePlan, parse_plan
from chaffinch.probe.result import GeneratorFigures, ProbeRecord, StageRecord, WarmUpRecord

_ENGINE_VERSION = "0.0.0+scripted"
_TOKENS = 16


def plan_in(pod: Mapping[str, Any]) -> ProbePlan:
    """Return the plan that a worker's pod was started with."""
    arguments = pod["spec"]["containers"][0]["args"]
    return parse_plan(arguments[arguments.index("--plan") + 1])


def record_of(plan: ProbePlan, seconds: float) -> ProbeRecord:
    """Return the result of a plan all of whose requests take so many seconds."""
    targets = len(plan.targets)
    warm_up = (
        None if plan.warm_up is None else WarmUpRecord(requests=plan.warm_up.requests * targets, errors=0)
    )
    return ProbeRecord(
        probe_uid=plan.probe_uid,
        attempt=plan.attempt,
        engine_version=_ENGINE_VERSION,
        warm_up=warm_up,
        stages=tuple(_stage(stage, seconds) for stage in plan.stages),
    )


def _stage(stage: Stage, seconds: float) -> StageRecord:
    latencies = _sketch(seconds, stage.requests)
    tokens = stage.requests * _TOKENS
    duration = seconds * stage.requests / stage.concurrency
    return StageRecord(
        name=stage.name,
        concurrency=stage.concurrency,
        planned=stage.requests,
        requests=stage.requests,
        errors=0,
        prompt_tokens=tokens,
        output_tokens=tokens,
        unknown_tokens=0,
        output_tokens_per_1000_seconds=round(1000 * tokens / duration),
        duration_millis=round(1000 * duration),
        sketches=Sketches(ttft=latencies, e2e=latencies, tpot=_sketch(seconds / _TOKENS, stage.requests)),
        itl=_sketch(seconds / _TOKENS, stage.requests),
        self_check=SelfCheck(passed=True),
        generator=GeneratorFigures(lag_p99_micros=100, cpu_permille=10),
    )


def _sketch(seconds: float, count: int) -> str:
    return grid.encode(grid.Histogram.of([seconds] * count).counts)
