from typing import Any

import pytest

from chaffinch.api.v1alpha1.engine import MODEL_NAME_PATTERN
from chaffinch.api.v1alpha1.formats import REMEDIES
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_rollout
from unit.api.rollouts import rollout_body


def refusal_of(body: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(InvalidSpec) as refusal:
        parse_rollout(body)
    return refusal.value.field_path, refusal.value.message


@pytest.mark.parametrize(
    ("body", "want_path", "want_message"),
    [
        ({}, "spec", "is required and must be a map of fields"),
        ({"spec": None}, "spec", "is required and must be a map of fields"),
        ({"spec": []}, "spec", "is required and must be a map of fields"),
        (rollout_body(replicas="4"), "spec.replicas", "must be a whole number, without quotes"),
        (rollout_body(replicas=True), "spec.replicas", "must be a whole number, without quotes"),
        (rollout_body(replicas=2.5), "spec.replicas", "must be a whole number, without quotes"),
        (rollout_body(replicas=65), "spec.replicas", "must be at most 64"),
        (rollout_body(objectives=[]), "spec.objectives", "must have at least 1 items"),
        (rollout_body(objectives={}), "spec.objectives", "must be a list"),
        (rollout_body(model="chat"), "spec.model", "must be a map of fields"),
        (rollout_body(model={"name": "chat"}), "spec.model.source", "is required: add it"),
        (
            rollout_body(model={"name": "chat", "source": 7}),
            "spec.model.source",
            "must be text: put it in quotes",
        ),
        (
            rollout_body(model={"name": "chat\n", "source": "a/b"}),
            "spec.model.name",
            r"'chat\n' is not allowed: " + REMEDIES[MODEL_NAME_PATTERN],
        ),
        (
            rollout_body(engine={"image": "i", "args": {"quantization": "AWQ"}}),
            "spec.engine.args.quantization",
            "'AWQ' is not allowed: it must match ^[a-z0-9][a-z0-9_.-]*$",
        ),
        (
            rollout_body(engine={"image": "i", "args": {"enablePrefixCaching": "yes"}}),
            "spec.engine.args.enablePrefixCaching",
            "must be true or false, without quotes",
        ),
        (
            rollout_body(engine={"image": "i", "args": {"dtype": "int4"}}),
            "spec.engine.args.dtype",
            "'int4' is not one of 'auto', 'half', 'float16', 'bfloat16', 'float' or 'float32'",
        ),
        (
            rollout_body(engine={"image": "i", "tensorParallelSize": 4}),
            "spec.engine.tensorParallelSize",
            "is not a field of this version: check its spelling and indentation, or remove it",
        ),
        (
            rollout_body(pod={"resources": {"limits": {"cpu": 1.5}}}),
            "spec.pod.resources.limits.cpu",
            "a resource amount is a whole number or text such as 500m or 16Gi",
        ),
        (
            rollout_body(pod={"resources": []}),
            "spec.pod.resources",
            "must be a map of fields",
        ),
    ],
)
def test_what_breaks_the_schema_is_named_with_its_field_and_a_remedy(
    body: dict[str, Any], want_path: str, want_message: str
) -> None:
    assert refusal_of(body) == (want_path, want_message)


def test_the_text_of_a_refusal_begins_with_the_field() -> None:
    refusal = InvalidSpec("spec.replicas", "is required: add it")
    assert str(refusal) == "spec.replicas: is required: add it"


def test_rules_of_a_part_are_asked_before_rules_that_rely_on_it() -> None:
    # A step without an action has no meaning that the rules between objectives and steps could ask for.
    body = rollout_body(strategy={"steps": [{"name": "nothing"}]})
    assert refusal_of(body) == (
        "spec.strategy.steps[0]",
        "a step needs exactly one of warmUp, probe, canary, approval, bake",
    )


def test_an_object_that_the_api_server_is_still_to_name_is_judged_by_its_spec_alone() -> None:
    body = rollout_body()
    body["metadata"] = {"generateName": "chat-"}
    assert parse_rollout(body).replicas == 4


@pytest.mark.parametrize("name", ["chat\n", "Chat", "", 7])
def test_a_name_that_only_looks_right_is_refused(name: object) -> None:
    body = rollout_body()
    body["metadata"]["name"] = name
    assert refusal_of(body)[0] == "metadata.name"


def test_a_refusal_shows_at_most_80_characters_of_the_value() -> None:
    _, message = refusal_of(rollout_body(model={"name": "?" * 100, "source": "a/b"}))
    assert message.startswith("'" + "?" * 79 + " is not allowed")
