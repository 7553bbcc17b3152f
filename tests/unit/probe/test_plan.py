from __future__ import annotations

import json

import pytest
from pydantic_core import to_jsonable_python

from chaffinch.api.v1alpha1.profile import ProbeProfileSpec, Prompt, WarmUp
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES
from chaffinch.probe.plan import (
    PlanError,
    ProbePlan,
    longest_seconds,
    parse_plan,
    plan_of,
    prompt_mix,
)

SMOKE_V1 = BUILT_IN_PROFILES["smoke/v1"]
TARGETS = ("http://10.0.0.1:8000", "http://[fd00::1]:8000")


def smoke() -> ProbePlan:
    return plan_of(SMOKE_V1, probe_uid="u", attempt=3, targets=TARGETS, model="org/chat")


def test_a_plan_survives_its_text() -> None:
    assert parse_plan(smoke().to_json()) == smoke()


@pytest.mark.parametrize("profile", BUILT_IN_PROFILES.values(), ids=BUILT_IN_PROFILES)
def test_every_built_in_profile_makes_a_plan_for_64_targets(profile: ProbeProfileSpec) -> None:
    targets = tuple(f"http://10.1.2.{i}:8000" for i in range(64))
    plan = plan_of(profile, probe_uid="u", attempt=1, targets=targets, model="m")
    assert parse_plan(plan.to_json()) == plan
    assert {s.name: s.requests for s in plan.stages}[profile.gate_stage] >= 150, "less is no evidence"


def test_a_warm_up_has_no_stages() -> None:
    plan = plan_of(WarmUp(requests=10, concurrency=4), probe_uid="u", attempt=1, targets=TARGETS, model="m")
    assert (plan.stages, plan.gate_stage) == ((), None)
    assert longest_seconds(plan) == 3 * 120


def test_the_longest_time_is_that_of_all_timeouts() -> None:
    assert longest_seconds(smoke()) == 4 * 30 + 120 + 600


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "no target": ({"targets": ()}, "targets: Tuple should have at least 1 item"),
    "a target with a path": (
        {"targets": ("http://a:1/v1",)},
        "targets.0: String should match pattern",
    ),
    "a target that the kubelet would expand": ({"targets": ("http://$(HOME):1",)}, "targets.0: String"),
    "a gate that is no stage": ({"gateStage": "other"}, "gateStage: it must name one of the stages"),
    "nothing to do": (
        {"stages": (), "gateStage": None, "warmUp": None},
        "stages: there is nothing to do; give stages, or a warmUp, or both",
    ),
    "one name twice": (
        {"stages": (SMOKE_V1.stages[0], SMOKE_V1.stages[0])},
        "stages: two of them have the same name",
    ),
    "shares that are not all": (
        {"prompt": {"mix": [{"tokens": 1, "share": "60%"}, {"tokens": 2, "share": "30%"}]}},
        "prompt.mix: the shares add up to 90%, not 100%",
    ),
    "no time at all": ({"requestTimeout": "0s"}, "'0s' is not a duration"),
    "a timeout in words": ({"requestTimeout": "soon"}, "'soon' is not a duration"),
    "an unknown field": ({"speed": 1}, "speed: Extra inputs are not permitted"),
}


@pytest.mark.parametrize(("change", "want"), WRONG.values(), ids=WRONG)
def test_a_plan_that_cannot_be_run_names_the_field(change: dict[str, object], want: str) -> None:
    fields = to_jsonable_python(smoke().model_dump(by_alias=True) | change)
    with pytest.raises(PlanError) as caught:
        parse_plan(json.dumps(fields))
    assert want in str(caught.value)


def test_a_plan_longer_than_an_argument_may_be_is_refused() -> None:
    with pytest.raises(PlanError, match="more than 32768 bytes"):
        parse_plan(" " * 40_000)


def test_a_prompt_has_one_length_or_a_mix() -> None:
    assert prompt_mix(Prompt(tokens=5)) == ((5, 100),)
    for prompt in (Prompt(), Prompt.model_validate({"tokens": 1, "mix": [{"tokens": 1, "share": "100%"}]})):
        with pytest.raises(ValueError, match="exactly one of tokens and mix"):
            prompt_mix(prompt)
