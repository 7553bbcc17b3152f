"""What the demo prints: the words and tables that an SRE would read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from stage.kubectl import Object

CONDITIONS = ("Available", "Ready", "Reconciling", "Stalled", "Promoted", "Evidence", "BaselineValid")
_FILE_WIDTH = 160
_COLOURS = {"True": "green", "False": "red", "Unknown": "yellow"}


class Screen:
    """A terminal, or a file when the output is piped."""

    def __init__(self) -> None:
        console = Console(highlight=False, soft_wrap=True)
        self._console = (
            console if console.is_terminal else Console(highlight=False, soft_wrap=True, width=_FILE_WIDTH)
        )

    def scene(self, name: str, story: str) -> None:
        """Open a scene."""
        self._console.print(f"\n[bold]── {name} ──[/bold] {story}")

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(f"   {text}", markup=False)

    def command(self, line: str, output: str) -> None:
        """Print a command as typed, and what it printed."""
        self._console.print(f"   [bold]$ {line}[/bold]")
        for row in output.rstrip().splitlines():
            self._console.print(f"   {row}", markup=False)

    def conditions(self, rollout: Object) -> None:
        """Print the conditions of a rollout as a table."""
        table = Table("condition", "status", "reason", "message", box=None, pad_edge=False)
        found = {entry["type"]: entry for entry in rollout["status"].get("conditions", ())}
        for kind in CONDITIONS:
            if entry := found.get(kind):
                status = entry["status"]
                table.add_row(
                    kind,
                    f"[{_COLOURS[status]}]{status}[/]",
                    entry.get("reason", ""),
                    entry.get("message", ""),
                )
        self._console.print(table)

    def objectives(self, objectives: Sequence[Mapping[str, Any]]) -> None:
        """Print what is known of each objective."""
        table = Table("objective", "verdict", "value", "control", "ratio", "interval", "limit", "n", box=None)
        for entry in objectives:
            samples = entry.get("samples", {})
            table.add_row(
                entry["name"], entry["verdict"],
                *(entry.get(key, "") for key in ("value", "control", "ratio", "interval", "limit")),
                " / ".join(str(samples[arm]) for arm in ("candidate", "stable") if arm in samples),
            )  # fmt: skip
        if objectives:
            self._console.print(table)
