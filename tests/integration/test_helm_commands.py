"""The helm that the tests have takes the commands that the pages name, in blocks and within sentences."""

from __future__ import annotations

import re
import shlex

import pytest

from pages import PAGES, all_commands, inline_of
from stage.install import InstallError, helm

pytestmark = pytest.mark.cluster

NAMED = sorted(
    {
        command.text
        for command in (*all_commands(), *(each for page in PAGES for each in inline_of(page)))
        if re.match(r"helm [a-z]", command.text)
    }
)


def help_on(text: str) -> str:
    """Return helm's help on a command: it reads the flags first, and asks no cluster."""
    return helm(*shlex.split(text)[1:], "--help")


def test_there_are_commands_to_look_at() -> None:
    assert len(NAMED) > 3


@pytest.mark.parametrize("text", NAMED)
def test_helm_has_the_command_and_its_flags(text: str) -> None:
    verb = text.split()[1]
    assert f"\n  helm {verb} " in help_on(text)


@pytest.mark.parametrize("text", ["helm upgrade --force-everything", "helm roll-back chaffinch"])
def test_what_helm_does_not_have_is_found(text: str) -> None:
    with pytest.raises(InstallError, match="unknown"):
        help_on(text)
