"""Frozen baselines: made from a probe's result, checked at every use, compared only with their like.

A baseline is content under a digest. The digest is the SHA-256 of the canonical JSON of the spec without the
digest itself: keys sorted, no blanks, nothing that equals its default, no floats. Leaving defaults out lets
later versions add optional fields without changing the digest of a baseline that has none of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from chaffinch.api.v1alpha1.baseline import BaselineReference, Fingerprint, InferenceBaselineSpec, Provenance
from chaffinch.api.v1alpha1.engine import ModelSpec
from chaffinch.api.v1alpha1.measurement import Sketches, StageMeasurement
from chaffinch.api.v1alpha1.names import baseline_object_name
from chaffinch.api.v1alpha1.probe import ProbeResult, StageResult
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec
from chaffinch.domain import grid
from chaffinch.domain.evidence import ArmEvidence, LatencyMetric, NoEvidence, Problem

MIN_REQUESTS = 150
"""Fewer requests say nothing of a P95."""

MAX_ERROR_SHARE_DIVISOR = 20
"""A stage in which more than one request in 20 failed has no P95."""

_NO_DIGEST = "sha256:" + "0" * 64
_REFUSED = "error_refused"


class BaselineError(ValueError):
    """A result that no baseline can be made from; the text says why and what to do."""


class NotEnoughRequestsError(BaselineError):
    """The gate stage has fewer requests than :data:`MIN_REQUESTS`."""


def freeze(
    reference: BaselineReference,
    *,
    model: ModelSpec,
    fingerprint: Fingerprint,
    profile: ProbeProfileSpec,
    result: ProbeResult,
    provenance: Provenance,
) -> InferenceBaselineSpec:
    """Make a baseline of what a probe measured.

    Other stages than the gate are there for reports: they may have ended at their timeout, and are left out
    only where their numbers cannot be believed.

    Args:
        reference: Name and version of the baseline.
        model: The model that was measured.
        fingerprint: Under which circumstances.
        profile: The load, whole.
        result: What was measured.
        provenance: Where it came from.

    Raises:
        BaselineError: If the gate stage cannot be the basis of a comparison.
    """
    arm = probe_arm(result, profile.gate_stage)
    if isinstance(arm, NoEvidence):
        raise BaselineError(f"stage {profile.gate_stage}: {arm.detail}; run the probe again")
    if arm.requests < MIN_REQUESTS:
        raise NotEnoughRequestsError(
            f"stage {profile.gate_stage}: {arm.requests} requests say nothing of a P95;"
            f" use a profile with {MIN_REQUESTS} or more"
        )
    if arm.errors * MAX_ERROR_SHARE_DIVISOR > arm.requests:
        raise BaselineError(
            f"stage {profile.gate_stage}: {arm.errors} of {arm.requests} requests failed, so that there is no"
            " P95 to hold anything to; mend the server first"
        )
    spec = InferenceBaselineSpec(
        name=reference.name,
        version=reference.version,
        model=model,
        fingerprint=fingerprint,
        profile=profile,
        stages=tuple(_measurement(stage) for stage in result.stages if _is_believable(stage)),
        gate_stage=profile.gate_stage,
        provenance=provenance,
        digest=_NO_DIGEST,
    )
    return spec.model_copy(update={"digest": digest_of(spec)})


def canonical_json(spec: InferenceBaselineSpec) -> str:
    """Return the text that the digest is taken of."""
    content = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"digest"})
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest_of(spec: InferenceBaselineSpec) -> str:
    """Return the digest that the content of a baseline should have."""
    return "sha256:" + hashlib.sha256(canonical_json(spec).encode()).hexdigest()


def verify(spec: InferenceBaselineSpec, object_name: str | None = None) -> str | None:
    """Check that a baseline is what was frozen, and that it makes sense.

    Args:
        spec: The baseline.
        object_name: Name of the object that holds it, if there is one.

    Returns:
        What is wrong, in our own words; None if nothing is.
    """
    return next(_problems(spec, object_name), None)


def _problems(spec: InferenceBaselineSpec, object_name: str | None) -> Iterator[str]:
    if digest_of(spec) != spec.digest:
        yield "the content does not match the digest"
    if object_name not in {None, baseline_object_name(spec.name, spec.version)}:
        yield f"the object's name is not {baseline_object_name(spec.name, spec.version)}"
    if spec.gate_stage != spec.profile.gate_stage:
        yield "gateStage differs from the profile's"
    if spec.gate_stage not in {stage.name for stage in spec.stages}:
        yield f"the gate stage {spec.gate_stage} is missing"
    planned = {stage.name: stage.concurrency for stage in spec.profile.stages}
    for stage in spec.stages:
        if planned.get(stage.name) != stage.concurrency:
            yield f"stage {stage.name} is not in the profile with that concurrency"
        arm = _arm(stage.requests, stage.errors, stage.sketches)
        if isinstance(arm, str):
            yield f"stage {stage.name}: {arm}"


def gate_arm(spec: InferenceBaselineSpec) -> ArmEvidence:
    """Return what the gate stage of a verified baseline measured.

    Raises:
        BaselineError: If :func:`verify` would have found something wrong with the stage.
    """
    for stage in spec.stages:
        if stage.name == spec.gate_stage:
            arm = _arm(stage.requests, stage.errors, stage.sketches)
            if isinstance(arm, ArmEvidence):
                return arm
            raise BaselineError(f"stage {stage.name}: {arm}")
    raise BaselineError(f"the gate stage {spec.gate_stage} is missing")


def fingerprint_mismatches(spec: InferenceBaselineSpec, fingerprint: Fingerprint) -> tuple[str, ...]:
    """Name every field in which two fingerprints differ, as users write it (``gpuProduct``)."""
    return _differences(spec.fingerprint, fingerprint)


def comparison_obstacles(
    spec: InferenceBaselineSpec, *, fingerprint: Fingerprint, model: ModelSpec, profile: ProbeProfileSpec
) -> tuple[str, ...]:
    """Name every difference that makes a comparison of a new version with a baseline meaningless.

    The engine's image, version and arguments, and the model's revision, are what a rollout changes and
    what the comparison is for. The hardware, the number of pods that share the load, the model and the
    load itself must be the same.
    """
    under_test = {"engineImage", "engineVersion", "engineArgs"}
    obstacles = [name for name in _differences(spec.fingerprint, fingerprint) if name not in under_test]
    obstacles += [f"model.{name}" for name in _differences(spec.model, model) if name != "revision"]
    if spec.profile != profile:
        obstacles.append("profile")
    return tuple(obstacles)


def probe_arm(result: ProbeResult, stage_name: str) -> ArmEvidence | NoEvidence:
    """Return what one stage of a probe measured, or why it cannot be used.

    A stage that ended early is no evidence, except that a server which failed most of what it was sent
    is known to be bad: its counts can only ever lead to a Fail. Refused connections alone do not show
    that: nobody was listening, and why is a question for Kubernetes.
    """
    stage = next((stage for stage in result.stages if stage.name == stage_name), None)
    if stage is None:
        return NoEvidence(Problem.NO_DATA, f"the probe ended before stage {stage_name}")
    if not stage.complete and not _mostly_failed(stage):
        return NoEvidence(Problem.NO_DATA, f"stage {stage_name} did not complete its requests")
    if stage.complete and not stage.self_check.passed:
        problem = stage.self_check.problem or "unknown"
        return NoEvidence(Problem.NOT_COMPARABLE, f"the load generator did not keep up: {problem}")
    arm = _arm(stage.requests, stage.errors, stage.sketches)
    return arm if isinstance(arm, ArmEvidence) else NoEvidence(Problem.UNAVAILABLE, arm)


def _mostly_failed(stage: StageResult) -> bool:
    answered = stage.errors - stage.errors_by_kind.get(_REFUSED, 0)
    return answered * 2 > stage.requests


def _is_believable(stage: StageResult) -> bool:
    arm = _arm(stage.requests, stage.errors, stage.sketches)
    return isinstance(arm, ArmEvidence) and arm.requests > 0 and stage.self_check.passed


def _measurement(stage: StageResult) -> StageMeasurement:
    return StageMeasurement(
        name=stage.name,
        concurrency=stage.concurrency,
        requests=stage.requests,
        errors=stage.errors,
        duration_millis=stage.duration_millis,
        sketches=stage.sketches,
    )


def _arm(requests: int, errors: int, sketches: Sketches) -> ArmEvidence | str:
    """Decode a stage; returns what is wrong if its numbers contradict each other."""
    texts = {
        LatencyMetric.TTFT: sketches.ttft,
        LatencyMetric.E2E: sketches.e2e,
        LatencyMetric.TPOT: sketches.tpot,
    }
    if errors > requests:
        return "it has more errors than requests"
    latencies: dict[LatencyMetric, grid.Histogram] = {}
    for metric, text in texts.items():
        if text is None:
            continue
        try:
            latencies[metric] = grid.decode(text)
        except ValueError as error:
            return f"{metric}: {error}"
        # Every request has a first and a last token, or counts as +infinity; one token has no time between.
        total = latencies[metric].total
        if total > requests or (metric is not LatencyMetric.TPOT and total != requests):
            return f"{metric}: the sketch holds {total} of {requests} requests"
    e2e = latencies.get(LatencyMetric.E2E)
    if e2e is not None and e2e.counts[grid.OVERFLOW] < errors:
        return "e2e: a failed request must count as endless"
    return ArmEvidence(requests, errors, latencies)


def _differences(ours: Fingerprint | ModelSpec, theirs: Fingerprint | ModelSpec) -> tuple[str, ...]:
    ours_by_name = ours.model_dump(mode="json", by_alias=True)
    theirs_by_name = theirs.model_dump(mode="json", by_alias=True)
    return tuple(name for name, value in ours_by_name.items() if theirs_by_name.get(name) != value)
