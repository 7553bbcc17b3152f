"""The command line: ``chaffinch``, and ``kubectl chaffinch`` by way of kubectl's plugins.

Each group of commands is a module with an ``add`` function that describes its arguments and names the
function that runs it. What a command decides, it decides with the same pure functions as the operator.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from chaffinch.cli import baseline, completion, probe, validate
from chaffinch.cli.exits import CommandError, Exit
from chaffinch.cli.rollouts import commanding, reading


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; wrong arguments exit with 2, as argparse does."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == [completion.ASK]:
        for word in completion.candidates(parser(), words[1:], completion.rollout_names):
            print(word)
        return Exit.OK
    options = parser().parse_args(words)
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
        description="Watch and steer rollouts, freeze baselines, check manifests, measure inference servers.",
        epilog="Exit codes: " + " ".join(f"{code.value}: {code.meaning}" for code in Exit),
    )
    groups = root.add_subparsers(required=True, metavar="COMMAND")
    for group in (reading, commanding, baseline, probe, validate, completion):
        group.add(groups)
    return root
