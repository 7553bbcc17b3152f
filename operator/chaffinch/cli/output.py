"""``-o/--output``: how a command prints its answer, and what that answer is made of as JSON.

One convention for all commands: ``--output`` is a format, ``--file`` a place. A command says what its JSON
holds where it describes its arguments; the reference is written from that, and tests hold the JSON to it.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

from chaffinch.cli.documents import STANDARD

JSON = "json"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a command prints as JSON.

    Attributes:
        what: What the whole is, in a few words.
        keys: The meaning of each key of an object; ``a.b`` is a key below another one, ``a[].b`` one of the
            objects in a list. A key that comes from the API as it is, is named and not unfolded.
    """

    what: str
    keys: Mapping[str, str]


def add_output(command: argparse.ArgumentParser, shape: Shape, *, more: tuple[str, ...] = ()) -> None:
    """Describe ``--output``.

    Args:
        command: The command.
        shape: What it prints as JSON.
        more: Formats that it knows besides text and JSON.
    """
    command.add_argument(
        "-o",
        "--output",
        choices=("text", JSON, *more),
        default="text",
        help="how to print it (default: %(default)s)",
    )
    command.set_defaults(shape=shape)


def add_file(command: argparse.ArgumentParser) -> None:
    """Describe ``--file``, for what ``--output`` formats."""
    command.add_argument(
        "--file", metavar="FILE", default=STANDARD, help="write it there (default: to the screen)"
    )


def shape_of(command: argparse.ArgumentParser) -> Shape | None:
    """Return what a command prints as JSON; None of one that prints none."""
    shape = command.get_default("shape")
    return shape if isinstance(shape, Shape) else None


def wants_json(options: argparse.Namespace) -> bool:
    """Say whether the user asked for JSON."""
    return bool(options.output == JSON)
