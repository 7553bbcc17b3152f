"""Every command that people are told to type names the rollout and its namespace."""

from __future__ import annotations

import re

import pytest

from chaffinch.api.exits import ProbeExit
from chaffinch.api.v1alpha1.command_line import command_line, with_names
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.remedies import COMMAND_REMEDIES, REMEDIES, remedy_of

_ABOUT_A_ROLLOUT = re.compile(r"`(?:kubectl )?(?:chaffinch )?[a-z]+ [^`]*\bNAME\b[^`]*`")
TEXTS = (*REMEDIES.values(), *COMMAND_REMEDIES.values(), *(code.remedy for code in ProbeExit))
COMMANDS = sorted({found for text in TEXTS for found in _ABOUT_A_ROLLOUT.findall(text)})


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ("", "kubectl chaffinch approve chat -n llm"),
        ("--step review", "kubectl chaffinch approve chat -n llm --step review"),
    ],
)
def test_a_command_names_the_rollout_and_its_namespace(options: str, want: str) -> None:
    assert command_line("approve", "chat", "llm", options=options) == want


def test_there_are_commands_to_look_at() -> None:
    assert len(COMMANDS) > 8


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_about_a_rollout_says_where_it_is(command: str) -> None:
    assert re.search(r" -n NS\b", command)


def test_a_remedy_becomes_one_for_a_rollout() -> None:
    assert with_names(remedy_of(Reason.STABLE_UNDERSIZED), "chat", "llm").startswith(
        "Look why pods of the stable revision are missing:"
        " `kubectl get pods -n llm -l chaffinch.dev/rollout=chat`,"
    )
    assert with_names("`NAME-router` in NS: SURNAMES are left alone", "chat", "llm") == (
        "`chat-router` in llm: SURNAMES are left alone"
    )
