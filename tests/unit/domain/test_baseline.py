from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.engine import ModelSpec
from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.api.v1alpha1.probe import ProbeResult, SelfCheck, StageResult
from chaffinch.api.v1alpha1.profile import (
    Output,
    ProbeProfileSpec,
)
from chaffinch.domain import baseline as baselines
from chaffinch.domain.baseline import BaselineError, NotEnoughRequestsError
from chaffinch.domain.evidence import ArmEvidence, LatencyMetric
from chaffinch.domain.grid import decode
from unit.domain.measured import (
    FINGERPRINT,
    MODEL,
    PROFILE,
    PROVENANCE,
    as_json,
    frozen,
    sketches,
    stage,
)


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
