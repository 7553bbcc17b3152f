"""Commands within sentences, `like this one`: the programs that they name take them.

Of the runbook that is nearly all that it tells people to do. Words in capitals are what a reader puts in.
Blocks of commands are typed on a cluster (``test_commands_run.py``); kubectl's flags are looked at here too.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from chaffinch.cli import parser
from chaffinch.cli.completion import groups_of
from pages import PAGES, ROOT, Command, all_commands, inline_of

KUBECTL = Path(sys.executable).with_name("kubectl")  # of the development dependencies
PUT_IN = {"COMMAND": "list", "N": "1", "SHELL": "bash"}
"""What stands for a word in capitals where the parser does not take any word."""

OUR_COMMANDS = frozenset(groups.choices if (groups := groups_of(parser())) else ())
INLINE = tuple(command for page in PAGES for command in inline_of(page))


def words_for_the_tool(text: str) -> list[str] | None:
    """Return what some code gives our command line to read; None if it is for another program, or no command.

    ``abort NAME`` is short for ``kubectl chaffinch abort NAME`` where that stands in the same sentence.
    """
    match text.split():
        case ["kubectl", "chaffinch", *_] | ["chaffinch", *_]:
            words = shlex.split(text)
            return words[words.index("chaffinch") + 1 :]
        case [first, second, *_] if first in OUR_COMMANDS and re.fullmatch(r"[A-Z]+|-.*", second):
            return shlex.split(text)
    return None


def is_taken(words: Sequence[str]) -> bool:
    """Say whether the words name a command of ours, or give one everything that it needs."""
    at, left = parser(), list(words)
    while left and (group := groups_of(at)) is not None and left[0] in group.choices:
        at = group.choices[left.pop(0)]
    if not left:
        return True
    try:
        return callable(parser().parse_args([PUT_IN.get(word, word) for word in words]).run)
    except SystemExit:
        return False


def ids_of(commands: Sequence[Command]) -> list[object]:
    """Return each command once, whatever number of pages name it."""
    unique = {command.text: command for command in reversed(commands)}
    return [pytest.param(command.text, id=str(command)) for command in sorted(unique.values(), key=str)]


FOR_THE_TOOL = ids_of([command for command in INLINE if words_for_the_tool(command.text) is not None])
FOR_KUBECTL = ids_of(
    [command for command in (*INLINE, *all_commands()) if re.match(r"kubectl (?!chaffinch\b)", command.text)]
)
SETTING = [
    pytest.param(value, id=f"{command}: {value}")
    for command in (*INLINE, *all_commands())
    if command.text.startswith("helm ")
    for value in re.findall(r"--set[ =]([\w.]+)=", command.text)
]


def test_there_are_commands_to_look_at() -> None:
    assert len(FOR_THE_TOOL) > 10
    assert len(FOR_KUBECTL) > 15
    assert len(SETTING) > 5


@pytest.mark.parametrize("text", FOR_THE_TOOL)
def test_the_tool_takes_what_a_sentence_tells_people_to_type(text: str) -> None:
    words = words_for_the_tool(text)
    assert words is not None
    assert is_taken(words)


@pytest.mark.parametrize(
    "text",
    [
        "kubectl chaffinch rollback NAME",
        "kubectl chaffinch baseline thaw",
        "kubectl chaffinch get NAME --follow",
        "chaffinch report NAME --attempt FIRST",
        "abort NAME --now",
        "retry --all",
    ],
)
def test_what_the_tool_does_not_take_is_found(text: str) -> None:
    words = words_for_the_tool(text)
    assert words is not None
    assert not is_taken(words)


def kubectl_takes(text: str) -> bool:
    """Ask kubectl for help on a command: it reads the flags first, and asks no cluster."""
    done = subprocess.run(
        [KUBECTL, *shlex.split(text)[1:], "--help"], capture_output=True, text=True, check=False, timeout=60
    )
    usage = done.stdout.partition("\nUsage:\n")[2].partition("\n")[0]
    # Help on a group of commands is what it gives on one that the group does not have.
    return done.returncode == 0 and bool(usage) and "SUBCOMMAND" not in usage and "[command]" not in usage


@pytest.mark.parametrize("text", FOR_KUBECTL)
def test_kubectl_has_the_command_and_its_flags(text: str) -> None:
    assert kubectl_takes(text)


@pytest.mark.parametrize(
    "text", ["kubectl show pods", "kubectl rollout progress", "kubectl logs POD --before", "kubectl get -k"]
)
def test_what_kubectl_does_not_have_is_found(text: str) -> None:
    assert not kubectl_takes(text)


@pytest.mark.parametrize("value", SETTING)
def test_the_chart_has_the_values_that_helm_is_told_to_set(value: str) -> None:
    found = yaml.safe_load((ROOT / "charts" / "chaffinch" / "values.yaml").read_text())
    for key in value.split("."):
        assert key in found
        found = found[key]
