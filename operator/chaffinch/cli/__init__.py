"""The command line: ``chaffinch``, and ``kubectl chaffinch`` by way of kubectl's plugins.

Each group of commands is a module with an ``add`` function that describes its arguments and names the
function that runs it. What a command decides, it decides with the same pure functions as the operator.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from chaffinch.cli import baseline, probe, validate
from chaffinch.cli.exits import CommandError, Exit


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; wrong arguments exit with 2, as argparse does."""
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return Exit.INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """Return the description of all commands."""
    root = argparse.ArgumentParser(
        prog="chaffinch",
        description="Freeze baselines, check manifests, and measure inference servers.",
        epilog="Exit codes: 0 ok; 1 a check failed; 2 wrong usage; 3 not enough evidence to say;"
        " 4 the two things cannot be compared.",
    )
    groups = root.add_subparsers(required=True, metavar="COMMAND")
    for group in (baseline, probe, validate):
        group.add(groups)
    return root
