"""Objects that the API takes, and objects that it refuses with the reason why.

Each invalid example begins with two comments: ``# expect:`` is a part of the API server's message,
``# field:`` the path of the field that the message names.

Hostile examples try to get a pod, a query or a request that a rollout must not give. They begin with the same
two comments; those that an API server can also take, because it drops what it does not know or because
metadata is anybody's, have a third: ``# trace:``, words of which nothing may be left in what is made of them.
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
        trace: For a hostile one that can be taken: words that nothing made of it may hold.
    """

    path: Path
    body: dict[str, Any]
    expect: str = ""
    field: str = ""
    trace: tuple[str, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether no API server takes it, strict or not."""
        return not self.trace

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


@cache
def hostile_examples() -> tuple[Example, ...]:
    """Return the objects with which somebody tries to get more than a rollout gives."""
    return tuple(_invalid(path) for path in sorted((_FOLDER / "hostile").glob("*.yaml")))


def _invalid(path: Path) -> Example:
    first, second, third, *_ = path.read_text(encoding="utf-8").splitlines()
    trace = tuple(third.removeprefix("# trace: ").split()) if third.startswith("# trace: ") else ()
    return Example(
        path, _body(path), first.removeprefix("# expect: "), second.removeprefix("# field: "), trace
    )


def _body(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return body
