"""Objects that the API takes, and objects that it refuses with the reason why.

Each invalid example begins with two comments: ``# expect:`` is a part of the API server's message,
``# field:`` the path of the field that the message names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Example:
    """One example file.

    Attributes:
        path: The file.
        body: The object in it.
        expect: For an invalid one: a part of the message with which it is refused.
        field: For an invalid one: the field that is named.
    """

    path: Path
    body: dict[str, Any]
    expect: str = ""
    field: str = ""

    def __str__(self) -> str:
        """Return the name of the example, for test ids."""
        return self.path.stem


@cache
def valid_examples() -> tuple[Example, ...]:
    """Return the objects that the API takes."""
    return tuple(Example(path, _body(path)) for path in sorted((_FOLDER / "valid").glob("*.yaml")))


@cache
def invalid_examples() -> tuple[Example, ...]:
    """Return the objects that the API refuses."""
    return tuple(_invalid(path) for path in sorted((_FOLDER / "invalid").glob("*.yaml")))


def _invalid(path: Path) -> Example:
    first, second, *_ = path.read_text(encoding="utf-8").splitlines()
    return Example(path, _body(path), first.removeprefix("# expect: "), second.removeprefix("# field: "))


def _body(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return body
