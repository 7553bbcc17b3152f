"""``history``: the attempts of a rollout, one line each, the newest last."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from chaffinch.cli.rollouts.records import Record
from chaffinch.cli.rollouts.report import duration
from chaffinch.cli.tables import to_the_second

_STYLES = {"Promoted": "green", "RolledBack": "red", "Running": "blue"}


def history(records: Sequence[Record]) -> Table:
    """Return attempts as a table."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("attempt", "revision", "outcome", "cause", "started", "took", "commanded by"):
        table.add_column(heading, justify="right" if heading == "attempt" else "left")
    for each in records:
        table.add_row(
            str(each.spec.attempt),
            each.spec.revision,
            Text(each.outcome, style=_STYLES.get(each.outcome, "")),
            each.status.cause or "",
            to_the_second(each.spec.started_at),
            duration(each.seconds),
            ", ".join(each.commanded_by),
        )
    return table
