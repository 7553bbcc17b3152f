"""``list``: all rollouts of a namespace, or of the cluster, one line each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from chaffinch.cli.rollouts.snapshot import Snapshot
from chaffinch.cli.rollouts.tree import PHASE_STYLES

_COLUMNS = ("name", "phase", "step", "weight", "stable", "candidate", "reason")


def listing(snapshots: Sequence[Snapshot], *, with_namespace: bool) -> Table:
    """Return rollouts as a table."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in (("namespace",) if with_namespace else ()) + _COLUMNS:
        table.add_column(heading)
    for each in snapshots:
        row = _row(each)
        table.add_row(*((each.namespace,) if with_namespace else ()), *row)
    return table


def _row(snapshot: Snapshot) -> tuple[str | Text, ...]:
    status, headline = snapshot.status, snapshot.headline
    progress = status.rollout
    step = (
        f"{progress.step.name} {progress.step.index + 1}/{progress.step.of}"
        if progress and progress.step
        else ""
    )
    weight = status.traffic.weight.percent if status.traffic and status.traffic.weight else ""
    return (
        snapshot.name,
        Text(snapshot.phase, style=PHASE_STYLES.get(snapshot.phase, "")),
        step,
        weight,
        status.stable.revision if status.stable else "",
        status.candidate.revision if status.candidate else "",
        headline.reason if headline and snapshot.is_observed else "NotObserved",
    )
