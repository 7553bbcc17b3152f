"""Measurements as text for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

from chaffinch.api.v1alpha1.common import format_time
from chaffinch.api.v1alpha1.measurement import Sketches, StageMeasurement
from chaffinch.api.v1alpha1.probe import StageResult
from chaffinch.api.v1alpha1.step_status import ObjectiveStatus, ObjectiveVerdict
from chaffinch.domain import grid

_HEAD = "stage clients requests failed ttft_p50 p95 p99 e2e_p50 p95 tpot_p50 p95"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def limit_of(figures: ObjectiveStatus) -> str:
    """Return an objective's limit and, of a Pass, how far it is proven: ``0.30% (<0.60%)``, or not at all."""
    proven = "(not proven)" if leaves_limit_open(figures) else ""
    if figures.ruled_out:
        proven = f"(<{figures.ruled_out})"
    return f"{figures.limit or ''} {proven}".strip()


def leaves_limit_open(figures: ObjectiveStatus) -> bool:
    """Say whether a Pass means no harm beside stable, and not that the limit is kept."""
    return figures.verdict is ObjectiveVerdict.PASS and bool(figures.limit) and not figures.ruled_out


def counts(figures: ObjectiveStatus) -> str:
    """Return how many requests a verdict rests on: the candidate's, and after a slash stable's."""
    samples = figures.samples
    if samples is None:
        return ""
    return str(samples.candidate) + (f"/{samples.stable}" if samples.stable is not None else "")


def to_the_second(at: datetime | None) -> str:
    """Return a time to the second; nothing of none."""
    return format_time(at.replace(microsecond=0)) if at is not None else ""


def stage_table(stages: Iterable[StageMeasurement | StageResult], gate_stage: str | None) -> str:
    """Return the stages as a table; the gate stage is marked with a star.

    Latencies are upper edges of buckets of the grid: at most 2.5 % above the exact value.
    """
    rows = [tuple(_HEAD.split()), *(_row(stage, gate_stage) for stage in stages)]
    return columns(rows)


def quantile(sketch: str | None, p: float) -> str:
    """Return a quantile in words: ``241 ms``; ``unbounded`` where too many failed; ``-`` of nothing."""
    seconds = grid.decode(sketch).quantile_seconds(p) if sketch else None
    if seconds is None:
        return "-"
    if math.isinf(seconds):
        return "unbounded"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"


def _row(stage: StageMeasurement | StageResult, gate_stage: str | None) -> tuple[str, ...]:
    mark = "*" if stage.name == gate_stage else ""
    counts = (stage.name + mark, str(stage.concurrency), str(stage.requests), str(stage.errors))
    return counts + _latencies(stage.sketches)


def _latencies(sketches: Sketches) -> tuple[str, ...]:
    return (
        *(quantile(sketches.ttft, p) for p in (0.5, 0.95, 0.99)),
        *(quantile(sketches.e2e, p) for p in (0.5, 0.95)),
        *(quantile(sketches.tpot, p) for p in (0.5, 0.95)),
    )
