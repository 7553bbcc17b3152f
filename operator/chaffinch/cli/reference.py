"""Writes the reference of the command line from the very description of its arguments.

``python -m chaffinch.cli.reference`` prints it; a test holds ``docs/reference-cli.md`` to it.
"""

from __future__ import annotations

import argparse
import sys

from chaffinch.cli import parser
from chaffinch.cli.completion import arguments_of, commands_of
from chaffinch.cli.exits import Exit
from chaffinch.cli.output import shape_of

_INTRODUCTION = """\
# The command line

`chaffinch COMMAND`, or `kubectl chaffinch COMMAND`: both are the same program. It speaks to the cluster by
way of the `kubectl` in `PATH` (or `$KUBECTL`), so it sees what kubectl sees and may do what you may.

Install it with `pipx install .` in a checkout, or `pip install .` in a virtual environment;
`chaffinch completion bash` prints a completion script.

`-o` (`--output`) is a format, `--file` a place. With `-o json` there is JSON on standard output and nothing
else: progress and errors are on standard error, and the exit code is the same. Each command has a shape of
its own: keys may be added to it, none is taken away or renamed, and each is always there if it does not say
otherwise.
"""


def reference() -> str:
    """Return the reference as Markdown."""
    chapters = [_INTRODUCTION, _exits(), *(_chapter(name, each) for name, each in commands_of(parser()))]
    return "\n".join(chapters)


def _exits() -> str:
    rows = "\n".join(f"| {code.value} | {code.meaning} | {code.remedy} |" for code in Exit)
    return f"## Exit codes\n\n| code | meaning | what to do |\n| --- | --- | --- |\n{rows}\n"


def _chapter(name: str, command: argparse.ArgumentParser) -> str:
    rows = [
        f"| `{_shape(action)}` | {(action.help or '') % (vars(action) | {'prog': command.prog})} |"
        for action in arguments_of(command)
        if action.dest != "help"
    ]
    table = "\n".join(["| argument | meaning |", "| --- | --- |", *rows])
    about = f"{command.description or ''}\n\n" if command.description else ""
    return f"## {name}\n\n{about}{table}\n{_json(command)}"


def _json(command: argparse.ArgumentParser) -> str:
    shape = shape_of(command)
    if shape is None:
        return ""
    rows = "\n".join(f"| `{key}` | {meaning} |" for key, meaning in shape.keys.items())
    return f"\nAs JSON: {shape.what[0].lower()}{shape.what[1:]}\n\n| key | meaning |\n| --- | --- |\n{rows}\n"


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
