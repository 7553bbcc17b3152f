"""The runbook has a line for every word and every exit code that a person can meet."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import get_type_hints

import pytest

from chaffinch import __main__ as operator
from chaffinch.agent import __main__ as agent
from chaffinch.api.exits import AgentExit, Ending, OperatorExit, ProbeExit
from chaffinch.api.runbook import runbook
from chaffinch.api.v1alpha1.reasons import CommandReason, Reason, StartReason
from chaffinch.api.v1alpha1.remedies import COMMAND_REMEDIES, QUIET, START_REMEDIES
from chaffinch.cli.exits import Exit
from chaffinch.domain.evidence import Problem
from chaffinch.domain.observation import CreationRefusal
from chaffinch.domain.verdict.types import EvidenceReason
from chaffinch.probe import __main__ as probe

TEXT = runbook()
ENTRIES = dict(re.findall(r"^## (\w+)\n\n.+\n\nWhat to do: (.+)$", TEXT, re.MULTILINE))
ROWS = {
    (first, second): rest
    for first, second, rest in re.findall(r"^\| (.+?) \| (.+?) \| (.+) \|$", TEXT, re.MULTILINE)
}
PROCESSES = {
    "operator": (operator.main, OperatorExit),
    "agent of a router": (agent.main, AgentExit),
    "worker of a LoadProbe": (probe.main, ProbeExit),
}


@pytest.mark.parametrize("word", [*Reason, *StartReason], ids=str)
def test_every_reason_that_asks_for_something_says_for_what(word: Reason | StartReason) -> None:
    quiet = next(line for line in TEXT.splitlines() if line.startswith("These reasons ask nothing"))
    assert (f"`{word}`" in quiet) == (word in QUIET) != (word in ENTRIES)
    assert word in QUIET or ENTRIES[word].endswith(".")


@pytest.mark.parametrize("word", CommandReason, ids=str)
def test_every_answer_to_a_command_says_what_can_be_done(word: CommandReason) -> None:
    assert ROWS[f"`{word}`", word.meaning] == COMMAND_REMEDIES[word]
    assert COMMAND_REMEDIES[word].endswith(".")


@pytest.mark.parametrize(("main", "endings"), PROCESSES.values(), ids=PROCESSES)
def test_a_process_returns_nothing_but_codes_that_the_runbook_knows(
    main: Callable[..., int], endings: type[Ending]
) -> None:
    assert get_type_hints(main)["return"] is endings
    (process,) = [name for name, (_, each) in PROCESSES.items() if each is endings]
    for code in endings:
        assert ROWS[process, str(code.value)] == f"{code.meaning} | {code.remedy}"


@pytest.mark.parametrize("code", [*OperatorExit, *AgentExit, *ProbeExit, *Exit], ids=repr)
def test_every_exit_code_has_a_meaning_and_a_remedy(code: Ending) -> None:
    assert code.meaning.endswith(".")
    assert code.remedy.endswith(".")


@pytest.mark.parametrize("words", [EvidenceReason, Problem, CreationRefusal])
def test_words_of_the_parts_that_judge_are_reasons(words: type[StrEnum]) -> None:
    assert {str(word) for word in words} <= {str(reason) for reason in Reason}


def test_what_an_operator_says_that_does_not_start_is_in_no_object() -> None:
    assert START_REMEDIES.keys() == set(StartReason)
    assert not {str(word) for word in StartReason} & {str(reason) for reason in Reason}


def test_no_word_has_two_entries() -> None:
    headings = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert len(headings) == len(set(headings))
