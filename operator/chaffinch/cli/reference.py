"""Writes the reference of the command line from the very description of its arguments.

``python -m chaffinch.cli.reference`` prints it; a test holds ``docs/reference-cli.md`` to it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from chaffinch.cli import parser
from chaffinch.cli.completion import arguments_of, groups_of
from chaffinch.cli.exits import Exit

_INTRODUCTION = """\
# The command line

`chaffinch COMMAND`, or `kubectl chaffinch COMMAND`: both are the same program. It speaks to the cluster by
way of the `kubectl` in `PATH` (or `$KUBECTL`), so it sees what kubectl sees and may do what you may.

Install it with `pipx install .` in a checkout, or `pip install .` in a virtual environment;
`chaffinch completion bash` prints a completion script.

`--output json` has a shape of its own for each command, which only ever grows.
"""


def reference() -> str:
    """Return the reference as Markdown."""
    chapters = [_INTRODUCTION, _exits(), *(_chapter(name, each) for name, each in _commands(parser(), ""))]
    return "\n".join(chapters)


def _exits() -> str:
    rows = "\n".join(f"| {code.value} | {code.meaning} |" for code in Exit)
    return f"## Exit codes\n\n| code | meaning |\n| --- | --- |\n{rows}\n"


def _commands(at: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    group = groups_of(at)
    if group is None:
        yield path, at
        return
    for name, each in group.choices.items():
        yield from _commands(each, f"{path} {name}".strip())


def _chapter(name: str, command: argparse.ArgumentParser) -> str:
    rows = [
        f"| `{_shape(action)}` | {(action.help or '') % (vars(action) | {'prog': command.prog})} |"
        for action in arguments_of(command)
        if action.dest != "help"
    ]
    table = "\n".join(["| argument | meaning |", "| --- | --- |", *rows])
    about = f"{command.description or ''}\n\n" if command.description else ""
    return f"## {name}\n\n{about}{table}\n"


def _shape(action: argparse.Action) -> str:
    value = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest
    )
    shown = str(value).replace("|", "\\|")
    if not action.option_strings:
        return shown
    flags = ", ".join(action.option_strings)
    return flags if action.nargs == 0 else f"{flags} {shown}"


if __name__ == "__main__":
    sys.stdout.write(reference())
