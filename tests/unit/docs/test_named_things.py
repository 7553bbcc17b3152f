"""What the pages name besides our commands is there: modules with options, files of tests, variables."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from opentelemetry.sdk import environment_variables

from chaffinch.settings import PREFIX, Settings
from localcluster.cli import PROGRAMS as PASSED_ON
from pages import PAGES, ROOT, Command, all_commands, inline_of

INLINE = tuple(command for page in PAGES for command in inline_of(page))
MODULES_OF_TARGETS = {"kubectl": "localcluster kubectl", "bench-scale": "bench.scale"}
"""What the targets of make that take ARGS hand them to."""

_NAME = re.compile(r"[A-Z]+(?:_[A-Z]+)+")
_PATH = re.compile(r"\btests/[\w./-]*\w")
_HERE = Path(__file__).parent


def programs_of(text: str) -> list[str]:
    """Return what a command has Python run, as a module and its words; after `--` comes another command."""
    found = []
    for part in text.split(" -- "):
        match shlex.split(part):
            case ["python", "-m", *words]:
                found.append(shlex.join(words))
            case ["make", target, given] if given.startswith("ARGS="):
                found.append(f"{MODULES_OF_TARGETS[target]} {given.removeprefix('ARGS=')}")
    return found


PROGRAMS = sorted({each for command in (*INLINE, *all_commands()) for each in programs_of(command.text)})
VARIABLES = sorted({name for each in INLINE if _NAME.fullmatch(name := each.text.partition("=")[0])})


def paths_in(text: str) -> list[str]:
    """Return the files and folders of tests that a text names."""
    return sorted(set(_PATH.findall(text)))


@cache
def help_of(*words: str) -> str:
    """Return what a module, or a command of it, says of itself; nothing if there is none."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}:{ROOT / 'operator'}"}
    done = subprocess.run(
        [sys.executable, "-m", *words, "--help"],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else ""


def is_there(program: str) -> bool:
    """Say whether a module can be run, has the command that is named after it, and the options."""
    match shlex.split(program):
        case ["localcluster", command, *_] if command in PASSED_ON:
            return True  # what follows is another program's
        case ["localcluster", command, *words]:
            told = help_of("localcluster", command)
        case [module, *words]:
            told = help_of(module)
        case _:
            return False
    options = [word for word in words if word.startswith("-")]
    return bool(told) and all(re.search(rf"(?<![\w-]){option}\b", told) for option in options)


def is_read(variable: str) -> bool:
    """Say whether something reads an environment variable: the operator, the SDK of its traces, or a test."""
    if variable.startswith(PREFIX):
        return variable.removeprefix(PREFIX).lower() in Settings.model_fields
    if variable.startswith("OTEL_"):
        return hasattr(environment_variables, variable)
    sources = [path for path in (ROOT / "tests").rglob("*.py") if not path.is_relative_to(_HERE)]
    return any(re.search(rf'environ\b.*"{variable}"', path.read_text()) for path in sources)


def test_there_are_things_to_look_at() -> None:
    assert len(PROGRAMS) > 5
    assert len(VARIABLES) > 20
    assert sum(len(paths_in(page.read_text())) for page in PAGES) > 40


@pytest.mark.parametrize("program", PROGRAMS)
def test_python_has_the_modules_and_options_that_a_page_names(program: str) -> None:
    assert is_there(program)


@pytest.mark.parametrize(
    "program",
    [
        "localclusters up",
        "localcluster upgrade",
        "localcluster up --kwoks",
        "bench.scale --beside-it x",
        "pytest -y",
    ],
)
def test_modules_commands_and_options_that_are_not_there_are_found(program: str) -> None:
    assert not is_there(program)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_tests_that_a_page_names_are_there(page: Path) -> None:
    assert [path for path in paths_in(page.read_text()) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("command", [each for each in INLINE if each.text.startswith("-k ")], ids=str)
def test_a_choice_of_tests_chooses_one_of_a_file_that_its_line_names(command: Command) -> None:
    lines = [line for line in (ROOT / command.page).read_text().splitlines() if f"`{command.text}`" in line]
    named = [ROOT / path for line in lines for path in paths_in(line)]
    sources = "".join(path.read_text() for path in named if path.suffix == ".py")
    assert re.search(rf"^(async )?def test_\w*{command.text.split()[1]}", sources, re.MULTILINE)


@pytest.mark.parametrize("variable", VARIABLES)
def test_something_reads_the_variables_that_a_page_names(variable: str) -> None:
    assert is_read(variable)


@pytest.mark.parametrize("variable", ["CRASH_SPEED", "CHAFFINCH_CRASH_LANES", "OTEL_TRACES_SAMPLE"])
def test_variables_that_nothing_reads_are_found(variable: str) -> None:
    assert not is_read(variable)
