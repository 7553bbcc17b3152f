"""No page tells people to type what no test has typed, or says why it has not."""

from __future__ import annotations

import pytest

from pages import Command, all_commands
from readme.reader import NOT_TYPED, TYPED, command_that_begins


def times_known(text: str) -> int:
    """Return how often the story knows a command: by beginnings what it types, whole what it does not."""
    return sum(text.startswith(beginning) for beginning in TYPED) + (text in NOT_TYPED)


@pytest.mark.parametrize("command", all_commands(), ids=str)
def test_each_command_of_a_page_is_typed_by_the_story_or_has_a_reason_not_to(command: Command) -> None:
    assert times_known(command.text) == 1, "add it to tests/readme/reader.py"


@pytest.mark.parametrize(
    "text", ["make test-everything", "make demo ARGS=--fast", "docker build .", "helm install x"]
)
def test_an_excuse_is_for_one_command_and_not_for_what_begins_like_it(text: str) -> None:
    assert times_known(text) == 0


@pytest.mark.parametrize("beginning", TYPED)
def test_what_the_story_types_is_one_command_of_the_pages(beginning: str) -> None:
    assert command_that_begins(beginning).text.startswith(beginning)


@pytest.mark.parametrize("text", NOT_TYPED)
def test_what_is_excused_still_stands_in_a_page(text: str) -> None:
    assert text in {command.text for command in all_commands()}
