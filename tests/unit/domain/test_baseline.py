from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

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
from chaffinch.domain.baseline import BaselineError, NotEnoughRequestsError
from chaffinch.domain.evidence import ArmEvidence, Evidence, LatencyMetric, NoEvidence, Problem
from chaffinch.domain.grid import OVERFLOW, decode

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


def test_a_frozen_baseline_carries_everything_and_verifies() -> None:
    spec = frozen()
    assert baselines.verify(spec, "chat-h100-v1") is None
    assert [(s.name, s.requests) for s in spec.stages] == [("one", 20), ("gate", 200)]
    assert (spec.model, spec.fingerprint, spec.profile, spec.provenance) == (
        MODEL,
        FINGERPRINT,
        PROFILE,
        PROVENANCE,
    )


def test_the_digest_is_that_of_the_canonical_text_forever() -> None:
    """If this fails, baselines that people have committed no longer verify."""
    assert frozen().digest == "sha256:d2045cb80e7c87fc108ea2289c2da9a1a7b38a16c71967a38f4bcc889601a9df"


def test_key_order_and_white_space_do_not_matter() -> None:
    content = as_json(frozen())

    def shuffled(value: object) -> object:
        if isinstance(value, dict):
            keys = list(value)
            random.Random(3).shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    again = InferenceBaselineSpec.model_validate_json(json.dumps(shuffled(content), indent=7))
    assert baselines.verify(again) is None


def test_absent_and_empty_optional_fields_are_the_same() -> None:
    content = as_json(frozen())
    content["profile"]["prompt"]["tokens"] = None
    assert baselines.verify(InferenceBaselineSpec.model_validate(content)) is None


def test_the_same_moment_in_another_time_zone_is_the_same() -> None:
    content = as_json(frozen())
    content["provenance"]["createdAt"] = "2026-03-01T14:00:00+02:00"
    assert baselines.verify(InferenceBaselineSpec.model_validate(content)) is None


def test_the_canonical_text_has_no_float_in_it() -> None:
    def leaves(value: object) -> Iterator[object]:
        if isinstance(value, dict):
            for item in value.values():
                yield from leaves(item)
        elif isinstance(value, list):
            for item in value:
                yield from leaves(item)
        else:
            yield value

    assert {type(leaf) for leaf in leaves(json.loads(baselines.canonical_json(frozen())))} == {str, int}


@dataclass(frozen=True)
class Edit:
    """One leaf of a baseline, and how to change it."""

    path: tuple[str | int, ...]
    value: object

    def apply(self, content: dict[str, Any]) -> None:
        *parents, last = self.path
        place: Any = content
        for part in parents:
            place = place[part]
        place[last] = self.value


def other(value: object) -> object:
    if isinstance(value, int):
        return value + 1
    text = str(value)
    if text.endswith("%"):
        return "11%" if text != "11%" else "12%"
    if text[-1:] in {"m", "s"} and text[:-1].isdigit():
        return f"{int(text[:-1]) + 1}{text[-1]}"
    if text.startswith("2026"):
        return "2026-03-01T12:00:01Z"
    if ":" in text and text[0].isdigit():
        bucket, _, count = text.partition(":")
        return f"{int(bucket) + 1}:{count}"
    return text[:-1] + ("1" if text[-1] != "1" else "2")


def every_leaf(value: object, path: tuple[str | int, ...] = ()) -> Iterator[Edit]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from every_leaf(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from every_leaf(item, (*path, index))
    else:
        yield Edit(path, other(value))


EDITS = list(every_leaf(as_json(frozen())))


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: ".".join(map(str, edit.path)))
def test_a_change_of_any_field_is_found(edit: Edit) -> None:
    content = as_json(frozen())
    edit.apply(content)
    assert content != as_json(frozen()), "the edit must be one"
    try:
        spec = InferenceBaselineSpec.model_validate(content)
    except ValidationError:
        return
    assert baselines.verify(spec) is not None


def test_the_edits_reach_every_part() -> None:
    assert {edit.path[0] for edit in EDITS} == {
        "name",
        "version",
        "model",
        "fingerprint",
        "profile",
        "stages",
        "gateStage",
        "provenance",
        "digest",
    }


def resealed(**changes: object) -> InferenceBaselineSpec:
    spec = frozen().model_copy(update=changes)
    return spec.model_copy(update={"digest": baselines.digest_of(spec)})


def gate_changed(**changes: object) -> InferenceBaselineSpec:
    one, gate = frozen().stages
    return resealed(stages=(one, gate.model_copy(update=changes)))


NONSENSE = {
    "another object name": (frozen(), "the object's name is not chat-h100-v1"),
    "no gate stage": (resealed(stages=frozen().stages[:1]), "the gate stage gate is missing"),
    "a gate stage of another profile": (resealed(gate_stage="one"), "gateStage differs from the profile's"),
    "more errors than requests": (
        gate_changed(errors=201),
        "stage gate: it has more errors than requests",
    ),
    "a sketch of other counts": (
        gate_changed(sketches=Sketches(ttft="180:199", e2e="240:200")),
        "stage gate: ttft: the sketch holds 199 of 200 requests",
    ),
    "failures that are not endless": (
        gate_changed(errors=3),
        "stage gate: e2e: a failed request must count as endless",
    ),
    "buckets that are not on the grid": (
        gate_changed(sketches=Sketches(ttft="548:200", e2e="240:200")),
        "stage gate: ttft: a sketch lists positive counts in rising buckets of the grid",
    ),
    "a stage that the profile does not have": (
        gate_changed(concurrency=5),
        "stage gate is not in the profile with that concurrency",
    ),
}


@pytest.mark.parametrize(("spec", "want"), NONSENSE.values(), ids=NONSENSE)
def test_a_matching_digest_does_not_excuse_nonsense(spec: InferenceBaselineSpec, want: str) -> None:
    name = "chat-h100-v2" if "name" in want else "chat-h100-v1"
    assert baselines.verify(spec, name) == want


def test_the_gate_stage_is_what_is_compared_with() -> None:
    assert baselines.gate_arm(frozen()) == ArmEvidence(
        requests=200,
        errors=0,
        latencies={
            LatencyMetric.TTFT: decode("180:200"),
            LatencyMetric.E2E: decode("240:200"),
            LatencyMetric.TPOT: decode("90:200"),
        },
    )


UNFIT = {
    "nine samples": (
        stage(requests=9, sketches=sketches(9)),
        NotEnoughRequestsError,
        "stage gate: 9 requests say nothing of a P95; use a profile with 150 or more",
    ),
    "a server that fails": (
        stage(errors=11, sketches=sketches(200, 11)),
        BaselineError,
        (
            "stage gate: 11 of 200 requests failed, so that there is no P95 to hold anything to;"
            " mend the server first"
        ),
    ),
    "an unfinished gate stage": (
        stage(complete=False),
        BaselineError,
        "stage gate: stage gate did not complete its requests; run the probe again",
    ),
    "a generator that lagged": (
        stage(self_check=SelfCheck(passed=False, problem="event loop lag P99 is 80 ms")),
        BaselineError,
        "stage gate: the load generator did not keep up: event loop lag P99 is 80 ms; run the probe again",
    ),
}


@pytest.mark.parametrize(("gate", "error", "want"), UNFIT.values(), ids=UNFIT)
def test_a_result_that_proves_nothing_is_not_frozen(
    gate: StageResult, error: type[BaselineError], want: str
) -> None:
    with pytest.raises(BaselineError) as caught:
        frozen(ProbeResult(stages=(stage("one"), gate)))
    assert (type(caught.value), str(caught.value)) == (error, want)


LAGGED = SelfCheck(passed=False, problem="CPU")
OTHER_STAGES = {
    "ended at its timeout": (stage("one", complete=False, requests=7, sketches=sketches(7)), ["one", "gate"]),
    "the generator lagged": (stage("one", self_check=LAGGED), ["gate"]),
    "nothing ended": (stage("one", complete=False, requests=0, sketches=Sketches()), ["gate"]),
    "numbers that contradict each other": (stage("one", errors=21), ["gate"]),
}


@pytest.mark.parametrize(("one", "want"), OTHER_STAGES.values(), ids=OTHER_STAGES)
def test_other_stages_are_kept_for_reports_where_they_can_be_believed(
    one: StageResult, want: list[str]
) -> None:
    spec = frozen(ProbeResult(stages=(one, stage("gate"))))
    assert [s.name for s in spec.stages] == want
    assert baselines.verify(spec) is None


MISMATCHES = [
    ("engine_image", "registry.example/engine:2", "engineImage", False),
    ("engine_version", "0.34.0", "engineVersion", False),
    ("engine_args", ("--max-num-seqs", "128"), "engineArgs", False),
    ("gpu_product", "A100", "gpuProduct", True),
    ("gpu_count", 2, "gpuCount", True),
    ("replicas", 1, "replicas", True),
]


@pytest.mark.parametrize(("field", "value", "name", "forbids"), MISMATCHES)
def test_a_differing_fingerprint_names_the_field(field: str, value: object, name: str, forbids: bool) -> None:
    measured = FINGERPRINT.model_copy(update={field: value})
    assert baselines.fingerprint_mismatches(frozen(), measured) == (name,)
    obstacles = baselines.comparison_obstacles(frozen(), fingerprint=measured, model=MODEL, profile=PROFILE)
    assert obstacles == ((name,) if forbids else ())


def test_another_model_or_load_forbids_a_comparison_and_another_commit_does_not() -> None:
    def obstacles(model: ModelSpec = MODEL, profile: ProbeProfileSpec = PROFILE) -> tuple[str, ...]:
        return baselines.comparison_obstacles(frozen(), fingerprint=FINGERPRINT, model=model, profile=profile)

    assert obstacles() == ()
    assert obstacles(model=MODEL.model_copy(update={"revision": "def"})) == ()
    assert obstacles(model=MODEL.model_copy(update={"source": "example/other"})) == ("model.source",)
    assert obstacles(profile=PROFILE.model_copy(update={"output": Output(tokens=17)})) == ("profile",)


def test_a_finished_probe_is_evidence_with_no_control() -> None:
    arm = baselines.gate_arm(frozen())
    assert baselines.probe_evidence(RESULT, "gate", NOW, frozen()) == Evidence(arm, None, NOW)


NO_EVIDENCE = {
    "no stage": (ProbeResult(), Problem.NO_DATA, "the probe ended before stage gate"),
    "stopped early": (
        ProbeResult(stages=(stage(complete=False),)),
        Problem.NO_DATA,
        "stage gate did not complete its requests",
    ),
    "stopped early by refused connections": (
        ProbeResult(
            stages=(
                stage(
                    complete=False,
                    requests=20,
                    errors=20,
                    errors_by_kind={"error_refused": 20},
                    sketches=sketches(20, 20),
                ),
            )
        ),
        Problem.NO_DATA,
        "stage gate did not complete its requests",
    ),
    "a generator that lagged": (
        ProbeResult(stages=(stage(self_check=SelfCheck(passed=False, problem="CPU")),)),
        Problem.NOT_COMPARABLE,
        "the load generator did not keep up: CPU",
    ),
    "numbers that contradict each other": (
        ProbeResult(stages=(stage(sketches=sketches(199)),)),
        Problem.UNAVAILABLE,
        "ttft: the sketch holds 199 of 200 requests",
    ),
}


@pytest.mark.parametrize(("result", "problem", "detail"), NO_EVIDENCE.values(), ids=NO_EVIDENCE)
def test_what_is_no_evidence_says_why(result: ProbeResult, problem: Problem, detail: str) -> None:
    assert baselines.probe_evidence(result, "gate", NOW) == NoEvidence(problem, detail)


def test_a_server_that_failed_most_requests_is_known_to_be_bad_though_the_stage_stopped() -> None:
    failed = stage(
        complete=False,
        requests=20,
        errors=20,
        errors_by_kind={"error_5xx": 20},
        sketches=Sketches(ttft=f"{OVERFLOW}:20", e2e=f"{OVERFLOW}:20", tpot=f"{OVERFLOW}:20"),
    )
    evidence = baselines.probe_evidence(ProbeResult(stages=(failed,)), "gate", NOW)
    assert isinstance(evidence, Evidence)
    assert (evidence.candidate.requests, evidence.candidate.errors) == (20, 20)


def test_a_baseline_of_another_gate_stage_cannot_be_compared_with() -> None:
    assert baselines.probe_evidence(RESULT, "one", NOW, frozen()) == NoEvidence(
        Problem.NOT_COMPARABLE, "the baseline's gate stage is gate"
    )
