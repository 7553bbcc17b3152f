"""No page tells people to type what no test has typed, or says why it has not."""

from __future__ import annotations

import pytest

from pages import Command, all_commands
from readme.reader import NOT_TYPED, TYPED

KNOWN = (*TYPED, *NOT_TYPED)


@pytest.mark.parametrize("command", all_commands(), ids=str)
def test_each_command_of_a_page_is_typed_by_the_story_or_has_a_reason_not_to(command: Command) -> None:
    found = [beginning for beginning in KNOWN if command.text.startswith(beginning)]
    assert len(found) == 1, "add it to tests/readme/reader.py"


@pytest.mark.parametrize("beginning", KNOWN)
def test_what_the_story_knows_still_stands_in_a_page(beginning: str) -> None:
    assert any(command.text.startswith(beginning) for command in all_commands())
