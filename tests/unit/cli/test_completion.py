"""Completion, asked as a shell and as kubectl ask it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chaffinch.cli import main, parser
from chaffinch.cli.completion import candidates, for_kubectl
from chaffinch.cli.exits import Exit
from chaffinch.cli.reference import reference
from unit.cli.conftest import Objects
from unit.cli.rollouts import healthy, rollout

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["ab"], ["abort"]),
        (["base"], ["baseline"]),
        (["baseline", "f"], ["freeze"]),
        (["get", ""], ["chat", "code"]),
        (["get", "co"], ["code"]),
        (["get", "-n", "llm", "ch"], ["chat"]),
        (["get", "chat", ""], []),
        (["get", "chat", "--wa"], ["--watch"]),
        (["report", "chat", "--output", ""], ["html", "json", "markdown", "text"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["baseline", "verify", ""], []),
        ([], []),
    ],
)
def test_what_may_come_next(words: list[str], answers: list[str]) -> None:
    assert candidates(parser(), words, lambda _: ["chat", "code"]) == answers


def test_names_are_those_of_the_namespace_that_was_typed(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    objects.put("inferencerollouts.chaffinch.dev", rollout())
    objects.put("inferencerollouts.chaffinch.dev", healthy("other"))
    assert main(["__complete", "get", "-n", "llm", ""]) == Exit.OK
    assert capsys.readouterr().out == "chat\nother\n"
    assert objects.calls()[-1][:3] == ["--namespace", "llm", "get"]


def test_where_nothing_may_come_not_even_an_empty_word_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["__complete", "validate", "Makef"]) == Exit.OK
    assert capsys.readouterr().out == ""


def test_kubectl_gets_candidates_and_what_to_do_besides(
    objects: Objects, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.put("inferencerollouts.chaffinch.dev", rollout())
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-chaffinch", "get", "c"])
    assert for_kubectl() == Exit.OK
    assert capsys.readouterr().out == "chat\n:4\n"


def test_bash_offers_what_the_program_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == Exit.OK
    program = tmp_path / "chaffinch"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from chaffinch.cli import main; main()" "$@"\n')
    program.chmod(0o755)
    script = capsys.readouterr().out + (
        "COMP_WORDS=(chaffinch baseline v)\nCOMP_CWORD=2\n_chaffinch\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(ROOT / "operator")}
    shown = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout == "verify\n"


def test_the_reference_of_the_command_line_is_that_of_the_program() -> None:
    page = (ROOT / "docs/reference-cli.md").read_text(encoding="utf-8")
    assert page == reference(), "run: python -m chaffinch.cli.reference > docs/reference-cli.md"
