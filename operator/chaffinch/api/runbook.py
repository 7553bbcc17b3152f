"""Writes the runbook: what each reason and each exit code means, and what a person does about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaffinch.api.exits import AgentExit, Ending, OperatorExit, ProbeExit
from chaffinch.api.v1alpha1.command_line import command_line
from chaffinch.api.v1alpha1.reasons import CommandReason, Reason, StartReason
from chaffinch.api.v1alpha1.remedies import COMMAND_REMEDIES, QUIET, START_REMEDIES, remedy_of

_INTRODUCTION = """\
# Runbook

Every condition, Event and alert gives a reason in one word, and so does an operator that does not start. Look
it up here. NAME is the rollout, NS its namespace. The message of the condition has the figures and the
names; `{explain}` puts all of it together. [Answers to commands](#answers-to-commands)
and [exit codes](#exit-codes) are at the end; those of the command line are in
[`reference-cli.md`](reference-cli.md#exit-codes).

These reasons ask nothing of anybody: {quiet}.
"""

_PROCESSES: tuple[tuple[str, type[Ending]], ...] = (
    ("operator", OperatorExit),
    ("agent of a router", AgentExit),
    ("worker of a LoadProbe", ProbeExit),
)


def runbook() -> str:
    """Return the runbook as Markdown, with an anchor for each reason that asks for something."""
    quiet = ", ".join(f"`{reason}`" for reason in sorted(QUIET, key=str))
    entries = (
        f"## {word}\n\n{meaning}\n\nWhat to do: {remedy}\n" for word, meaning, remedy in sorted(_entries())
    )
    introduction = _INTRODUCTION.format(quiet=quiet, explain=command_line("explain"))
    return "\n".join([introduction, *entries, _answers(), _exits()])


def _entries() -> Iterator[tuple[str, str, str]]:
    for reason in Reason:
        if reason not in QUIET:
            yield str(reason), reason.meaning, remedy_of(reason)
    for word in StartReason:
        yield str(word), word.meaning, START_REMEDIES[word]


def _answers() -> str:
    rows = [(f"`{word}`", word.meaning, COMMAND_REMEDIES[word]) for word in CommandReason]
    return f"## Answers to commands\n\n{_table(('reason', 'meaning', 'what to do'), rows)}"


def _exits() -> str:
    rows = [
        (process, str(code.value), code.meaning, code.remedy)
        for process, endings in _PROCESSES
        for code in endings
    ]
    return f"## Exit codes\n\n{_table(('process', 'code', 'meaning', 'what to do'), rows)}"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
