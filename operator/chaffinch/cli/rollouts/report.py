"""``report``: what one attempt was, what was judged and decided, and by whom; made from its record.

A report is a title and sections of facts or tables, so that every format says the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel

from chaffinch.api.v1alpha1.record import RecordedStep
from chaffinch.api.v1alpha1.step_status import ObjectiveStatus
from chaffinch.cli.rollouts.records import Record
from chaffinch.cli.tables import counts, limit_of, to_the_second
from chaffinch.domain.wording import percent

Row = tuple[str, ...]
_SECONDS = "_seconds"
_JUDGED = ("step", "objective", "verdict", "value", "control", "ratio", "interval", "limit", "n")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        title: Its title.
        head: The headings of its columns; empty for facts, which are pairs.
        rows: Its rows.
    """

    title: str
    head: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to say of an attempt.

    Attributes:
        title: Its title.
        sections: Its parts; none of them is empty.
    """

    title: str
    sections: tuple[Section, ...]


def report_of(record: Record) -> Report:
    """Return the report of an attempt."""
    spec, status = record.spec, record.status
    sections = (
        Section("Outcome", (), _facts(record)),
        Section(
            "Steps",
            ("step", "kind", "weight", "entered", "clock from", "passed", "restarts"),
            tuple(_step(step) for step in status.steps),
        ),
        Section("Verdicts", _JUDGED, tuple(_judged(s, o) for s in status.steps for o in s.objectives)),
        Section(
            "Waits",
            ("reason", "step", "since", "until", "missing"),
            tuple(
                (
                    hold.reason,
                    hold.step or "",
                    to_the_second(hold.since),
                    to_the_second(hold.until),
                    hold.message,
                )
                for hold in status.holds
            ),
        ),
        Section(
            "Commands",
            ("at", "action", "by", "outcome", "answer", "why"),
            tuple(
                (
                    to_the_second(each.at),
                    each.action,
                    each.by or "",
                    each.outcome,
                    each.message,
                    each.reason or "",
                )
                for each in status.commands
            ),
        ),
        Section("Held to", (), _plan(spec.plan)),
        Section("Tried", (), _frozen(spec.frozen)),
    )
    title = f"{spec.rollout}: attempt {spec.attempt}, revision {spec.revision}, {record.outcome}"
    return Report(title, tuple(section for section in sections if section.rows))


def duration(seconds: float | None) -> str:
    """Write how long something took: ``1h02m``, ``3m20s``, ``12s``; a dash of nothing."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def _facts(record: Record) -> tuple[Row, ...]:
    spec, status = record.spec, record.status
    pinned = status.baseline
    facts = (
        ("outcome", record.outcome),
        ("cause", status.cause or ""),
        ("evidence", status.message or ""),
        ("started", to_the_second(spec.started_at)),
        ("decided", to_the_second(status.decided_at)),
        ("ended", to_the_second(status.ended_at)),
        ("took", duration(record.seconds)),
        ("compared with", spec.stable or "nothing: the first revision"),
        ("baseline", f"{pinned.name} {pinned.digest}".strip() if pinned else ""),
    )
    return tuple(fact for fact in facts if fact[1])


def _step(step: RecordedStep) -> Row:
    return (
        step.name,
        step.kind,
        percent(step.weight),
        to_the_second(step.entered_at),
        to_the_second(step.acknowledged_at),
        to_the_second(step.passed_at),
        str(step.restarts or ""),
    )


def _judged(step: RecordedStep, found: ObjectiveStatus) -> Row:
    shown = (found.value, found.control, found.ratio, found.interval, limit_of(found))
    return (
        step.name,
        found.name,
        f"{found.verdict} {found.reason}",
        *(each or "" for each in shown),
        counts(found),
    )


def _plan(text: str) -> tuple[Row, ...]:
    plan = json.loads(text)
    limits = ("max", "maxRegression", "maxIncrease")
    rows: list[Row] = []
    for each in plan.get("objectives", ()):
        what = " ".join(filter(None, (each["metric"], each.get("quantile"))))
        rows.append((f"objective {each['name']}", f"{what} {_pairs(each, limits)}"))
    rows += [_asked(tag, fields) for step in plan.get("steps", ()) for tag, fields in step.items()]
    return tuple(rows)


def _asked(tag: str, fields: Mapping[str, Any]) -> Row:
    """Return what a step asks for, in the words in which people type it."""
    typed: dict[str, object] = {}
    for key, value in fields.items():
        if key == "weight":
            typed[key] = percent(value)
        elif key.endswith(_SECONDS):
            typed[to_camel(key.removesuffix(_SECONDS))] = f"{value}s"
        elif key != "name":
            typed[to_camel(key)] = value
    return f"step {fields['name']}", _pairs(typed, tuple(typed), tag)


def _frozen(text: str) -> tuple[Row, ...]:
    return tuple((key, json.dumps(value, sort_keys=True)) for key, value in sorted(json.loads(text).items()))


def _pairs(fields: dict[str, object], keys: Sequence[str], first: str = "") -> str:
    return " ".join(
        filter(None, (first, *(f"{key} {fields[key]}" for key in keys if fields.get(key) is not None)))
    )
