"""The commands that the pages tell people to type, in blocks and within sentences: for tests of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = tuple(sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]))

_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`")
_BLOCK = re.compile(r"^```(?:console|shell|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a page.

    Attributes:
        page: The page, as a path in the repository.
        text: What is typed, on one line.
    """

    page: str
    text: str

    def __str__(self) -> str:
        """Say which it is, for test ids."""
        return f"{self.page}: {self.text}"


def commands_of(page: Path) -> tuple[Command, ...]:
    """Return the commands of a page's blocks, continued lines joined, split at && as a shell does."""
    name = str(page.relative_to(ROOT))
    lines = [line for block in _BLOCK.findall(page.read_text()) for line in _joined(block)]
    return tuple(Command(name, each) for line in lines for each in line.split(" && "))


def inline_of(page: Path) -> tuple[Command, ...]:
    """Return all code within the sentences of a page, commands and other; what is wrapped is joined."""
    name = str(page.relative_to(ROOT))
    sentences = _FENCED.sub("", page.read_text())
    return tuple(Command(name, " ".join(each.split())) for each in _INLINE.findall(sentences))


def all_commands() -> tuple[Command, ...]:
    """Return the commands of all pages, page by page, in the order in which they stand there."""
    return tuple(command for page in PAGES for command in commands_of(page))


def _joined(block: str) -> list[str]:
    joined = re.sub(r"\\\n\s*", "", block)
    return [line[2:].split("  #")[0].strip() for line in joined.splitlines() if line.startswith("$ ")]
