"""What the operator itself makes of hostile objects, were a server to hand them over as they are."""

from __future__ import annotations

import json

import pytest

from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_rollout
from chaffinch.domain.manifests.engine import frozen_revision
from chaffinch.domain.revision import revision_of
from examples import Example, hostile_examples
from unit.api.words import OUR_WORDS, PARSERS

TAKEN = "taken"
REFUSED = tuple(example for example in hostile_examples() if example.expect != TAKEN)
HARMLESS = tuple(example for example in hostile_examples() if example.expect == TAKEN)


def test_there_are_enough_hostile_specs_to_mean_something() -> None:
    assert len(REFUSED) >= 25


@pytest.mark.parametrize("example", REFUSED, ids=str)
def test_a_hostile_spec_is_refused_with_its_field_and_rule(example: Example) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        PARSERS[example.body["kind"]](example.body)
    assert refusal.value.field_path == example.field
    if any(example.expect in words for words in OUR_WORDS):
        assert example.expect in refusal.value.message


@pytest.mark.parametrize("example", HARMLESS, ids=str)
def test_what_is_written_on_a_rollout_does_not_reach_its_pods(example: Example) -> None:
    spec = parse_rollout(example.body)
    made = json.dumps(frozen_revision("chat", revision_of(spec), spec, 1).template)
    assert [word for word in example.trace if word in made] == []
