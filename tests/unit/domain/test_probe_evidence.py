"""What a probe's result is evidence of."""

from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.api.v1alpha1.probe import ProbeResult, SelfCheck
from chaffinch.domain import baseline as baselines
from chaffinch.domain.evidence import ArmEvidence, NoEvidence, Problem
from chaffinch.domain.grid import OVERFLOW
from unit.domain.measured import (
    RESULT,
    frozen,
    sketches,
    stage,
)


def test_a_finished_probe_is_evidence_of_what_would_be_frozen_of_it() -> None:
    assert baselines.probe_arm(RESULT, "gate") == baselines.gate_arm(frozen())


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
    assert baselines.probe_arm(result, "gate") == NoEvidence(problem, detail)


def test_a_server_that_failed_most_requests_is_known_to_be_bad_though_the_stage_stopped() -> None:
    failed = stage(
        complete=False,
        requests=20,
        errors=20,
        errors_by_kind={"error_5xx": 20},
        sketches=Sketches(ttft=f"{OVERFLOW}:20", e2e=f"{OVERFLOW}:20", tpot=f"{OVERFLOW}:20"),
    )
    arm = baselines.probe_arm(ProbeResult(stages=(failed,)), "gate")
    assert isinstance(arm, ArmEvidence)
    assert (arm.requests, arm.errors) == (20, 20)
