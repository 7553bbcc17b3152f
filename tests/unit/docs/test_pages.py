"""What the pages promise: commands that the programs take, files and headings that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from chaffinch.cli import parser
from pages import PAGES, ROOT, commands_of, inline_of

MAKE_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

_LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")
_TOOL = (["chaffinch"], ["kubectl", "chaffinch"])


def _commands(page: Path) -> list[list[str]]:
    """Return the commands of a page, as words."""
    return [shlex.split(command.text) for command in commands_of(page)]


def _names(page: Path) -> str:
    return str(page.relative_to(ROOT))


OF_THE_TOOL = [
    pytest.param(command[len(start) :], id=f"{_names(page)}: {shlex.join(command)}")
    for page in PAGES
    for command in _commands(page)
    for start in _TOOL
    if command[: len(start)] == start
]
OF_MAKE = [
    pytest.param(shlex.split(text), id=f"{_names(page)}: {text}")
    for page in PAGES
    for text in sorted({command.text for command in (*commands_of(page), *inline_of(page))})
    if text.startswith("make ")
]


def test_there_are_commands_to_look_at() -> None:
    assert len(OF_THE_TOOL) > 10
    assert len(OF_MAKE) > 10


@pytest.mark.parametrize("words", OF_THE_TOOL)
def test_the_tool_takes_what_a_page_tells_people_to_type(words: list[str]) -> None:
    assert callable(parser().parse_args(words).run)


@pytest.mark.parametrize("words", OF_MAKE)
def test_make_has_the_targets_that_a_page_names(words: list[str]) -> None:
    assert [word for word in words[1:] if not word.startswith("ARGS=") and word not in MAKE_TARGETS] == []


@pytest.mark.parametrize("page", PAGES, ids=_names)
def test_files_that_commands_name_exist(page: Path) -> None:
    named = {
        word
        for command in _commands(page)
        for word in command
        if re.match(r"(docs|charts|crds|baselines)/", word)
    }
    assert [word for word in sorted(named) if not (ROOT / word).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=_names)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for path, anchor in _LINK.findall(page.read_text()):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(f"{path}#{anchor}" if anchor else path)
    assert broken == []


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
