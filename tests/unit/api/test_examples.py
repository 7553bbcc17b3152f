from typing import Any

import pytest

from chaffinch.api.v1alpha1.parse import InvalidSpec
from chaffinch.api.v1alpha1.rules.rule import ObjectRule, Rule
from examples import Example, hostile_examples, invalid_examples, valid_examples
from unit.api.words import ALL_RULES, OUR_WORDS, PARSERS


def test_there_are_enough_examples_to_mean_something() -> None:
    assert len(valid_examples()) >= 15
    assert len(invalid_examples()) >= 30


@pytest.mark.parametrize("example", valid_examples(), ids=str)
def test_a_valid_example_is_read_and_written_back_as_its_user_wrote_it(example: Example) -> None:
    spec = PARSERS[example.body["kind"]](example.body)
    written = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert written == example.body["spec"]


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
