"""The command line, installed as the README says, and what sentences of the pages tell people to type."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pages import PAGES, ROOT, inline_of

INLINE = {command.text for page in PAGES for command in inline_of(page)}
PUT_IN = {"FILE": "docs/examples/rollout.yaml"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the checkout beside the environment's own packages; return the folder."""
    assert "pip install ." in INLINE
    folder = tmp_path_factory.mktemp("installed")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", *offline, f"--target={folder}", "."],
        cwd=ROOT, check=True, timeout=120,
    )  # fmt: skip
    return folder


def typed(installed: Path, text: str) -> str:
    """Type a command that stands in a sentence of the pages; return what it prints."""
    assert text in INLINE
    program, *words = [PUT_IN.get(word, word) for word in text.split()]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [installed / "bin" / program, *words],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return done.stdout


def test_what_is_installed_is_a_copy_of_the_checkout_and_no_way_into_it(installed: Path) -> None:
    assert (installed / "chaffinch" / "cli" / "__init__.py").is_file()
    assert {path.name for path in (installed / "bin").iterdir()} >= {"chaffinch", "kubectl-chaffinch"}


def test_the_installed_tool_finds_the_example_right(installed: Path) -> None:
    shown = typed(installed, "chaffinch validate FILE")
    assert shown == "docs/examples/rollout.yaml: InferenceRollout chat: ok\n"


def test_the_installed_tool_prints_a_script_that_bash_takes(installed: Path) -> None:
    script = typed(installed, "chaffinch completion bash")
    told = subprocess.run(
        ["bash", "-c", f"{script}\ncomplete -p chaffinch"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout == "complete -o default -F _chaffinch chaffinch\n"
