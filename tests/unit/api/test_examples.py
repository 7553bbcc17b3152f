import json
from typing import Any

import pytest

from chaffinch.api.kinds import KINDS, Kind
from chaffinch.api.v1alpha1.common import StatusModel
from chaffinch.api.v1alpha1.parse import InvalidSpec
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.record import RecordedHold, RolloutRecordStatus
from chaffinch.api.v1alpha1.rules.rule import ObjectRule, Rule
from chaffinch.api.v1alpha1.status import TrafficStatus, WeightStatus
from examples import Example, hostile_examples, invalid_examples, valid_examples
from examples.filled import never_filled
from examples.statuses import FULL_STATUSES
from examples.variants import Variant, valid_variants
from unit.api.rollouts import NOON
from unit.api.words import ALL_RULES, OUR_WORDS, PARSERS


def test_there_are_two_hundred_valid_objects_and_two_hundred_that_are_refused() -> None:
    refused_in_strict = [example for example in hostile_examples() if example.expect != "taken"]
    for objects in (
        [example.body for example in valid_examples()] + [variant.body for variant in valid_variants()],
        [example.body for example in (*invalid_examples(), *refused_in_strict)],
    ):
        assert len({json.dumps(body, sort_keys=True) for body in objects}) >= 200


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_of_a_spec_is_filled_in_a_valid_example(kind: Kind) -> None:
    bodies = [example.body for example in valid_examples() if example.body["kind"] == kind.name]
    assert never_filled([PARSERS[kind.name](body) for body in bodies], "spec") == []


def test_every_kind_that_has_a_status_has_one_with_every_field_filled() -> None:
    assert {kind: type(status) for kind, status in FULL_STATUSES.items()} == {
        kind.name: kind.status for kind in KINDS if kind.status is not None
    }
    assert [field for kind, status in FULL_STATUSES.items() for field in never_filled([status], kind)] == []


@pytest.mark.parametrize("status", FULL_STATUSES.values(), ids=FULL_STATUSES)
def test_a_full_status_is_read_back_as_it_was_written(status: StatusModel) -> None:
    assert type(status).model_validate(status.to_dict()) == status


def test_a_field_that_nothing_fills_is_found_in_parts_and_in_items_of_lists() -> None:
    weight = WeightStatus(step=500, desired=500)
    traffic = (
        TrafficStatus(sequence=7, weight=weight, routers=0),
        TrafficStatus(sequence=8, acknowledged=7),
    )
    assert never_filled(traffic, "traffic") == ["traffic.weight.observed"]
    hold = RecordedHold(reason=Reason.NO_DATA, since=NOON, until=NOON, message="")
    assert never_filled([RolloutRecordStatus(holds=(hold,))], "status") == [
        "status.baseline",
        "status.cause",
        "status.commands",
        "status.decidedAt",
        "status.endedAt",
        "status.holds[].step",
        "status.message",
        "status.outcome",
        "status.steps",
    ]


@pytest.mark.parametrize("valid", [*valid_examples(), *valid_variants()], ids=str)
def test_a_valid_object_is_read_and_written_back_as_its_user_wrote_it(valid: Example | Variant) -> None:
    spec = PARSERS[valid.body["kind"]](valid.body)
    written = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert written == valid.body["spec"]


@pytest.mark.parametrize("example", invalid_examples(), ids=str)
def test_an_invalid_example_is_refused_in_the_words_of_the_api_server(
    example: Example,
) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        PARSERS[example.body["kind"]](example.body)
    assert refusal.value.field_path == example.field
    if any(example.expect in words for words in OUR_WORDS):
        assert example.expect in refusal.value.message


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.message[:60])
def test_every_rule_is_broken_by_an_example(rule: Rule[Any] | ObjectRule[Any]) -> None:
    assert any(
        example.expect in rule.message and (rule.field == "" or example.field.endswith(rule.field))
        for example in (*invalid_examples(), *hostile_examples())
    )
