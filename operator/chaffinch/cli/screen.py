"""Draws on the terminal: colours where there are some, plain text everywhere else."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

from rich.console import Console, RenderableType

_PLAIN_WIDTH = 200


def show(what: RenderableType) -> None:
    """Print something; in a pipe it gets no colours and is not folded at a narrow width."""
    console().print(what)


def console() -> Console:
    """Return standard output, as it is at this moment."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PLAIN_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def as_json(what: Any) -> str:  # noqa: ANN401 - whatever JSON can say
    """Return something as JSON, with a line end."""
    return json.dumps(what, indent=2, allow_nan=False) + "\n"


def show_json(what: Any) -> None:  # noqa: ANN401 - whatever JSON can say
    """Print something as JSON, at once: who reads a pipe shall not wait for the next piece."""
    sys.stdout.write(as_json(what))
    sys.stdout.flush()
