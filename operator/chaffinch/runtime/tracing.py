"""Traces of passes: a span for each, and below it one for whatever it asks others.

Where traces are sent nowhere, :class:`NoTracer` stands in, nothing of OpenTelemetry is imported, and log
lines have no trace id.

Attributes are names of objects, words of closed lists, and numbers: never a body, an answer or a prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from typing import Protocol, TypeAlias

from chaffinch.adapters.cluster import Report
from chaffinch.domain.observation import Observation
from chaffinch.runtime.current_pass import Notes, current_notes, enter, leave
from chaffinch.runtime.decision import Answer, Question
from chaffinch.runtime.hub import Subject

Attributes: TypeAlias = Mapping[str, str | int | float | bool]


class Span(Protocol):
    """Something that is under way."""

    @property
    def trace_id(self) -> str:
        """The trace that it belongs to, 32 hexadecimal digits; empty if none is kept."""
        ...

    def end(self, attributes: Attributes, *, failed: bool = False) -> None:
        """Say what came of it. Only the span that was begun last in the same task may be ended."""
        ...


class Tracer(Protocol):
    """Keeps traces."""

    def begin(self, name: str, attributes: Attributes) -> Span:
        """Begin a span below the one that is open in this task; it is the open one until it ends."""
        ...

    def past(self, name: str, attributes: Attributes, seconds: float, *, failed: bool) -> None:
        """Add what has just ended below the open span; without an open one nothing. Thread-safe."""
        ...

    def close(self) -> None:
        """Send what is left, within a few seconds."""
        ...


class NoTracer:
    """Keeps nothing; it is its own span."""

    trace_id = ""

    def begin(self, name: str, attributes: Attributes) -> NoTracer:
        """Begin nothing."""
        del name, attributes
        return self

    def past(self, name: str, attributes: Attributes, seconds: float, *, failed: bool) -> None:
        """Add nothing."""

    def end(self, attributes: Attributes, *, failed: bool = False) -> None:
        """End nothing."""

    def close(self) -> None:
        """Send nothing."""


class PassTrace:
    """The passes of one object, one after the other."""

    def __init__(self, tracer: Tracer, subject: Subject) -> None:
        self._tracer = tracer
        self._subject = subject
        self._open: tuple[Span, Token[Notes | None]] | None = None

    def began(self) -> None:
        """Open the span of a pass."""
        subject = self._subject
        place = {"chaffinch.namespace": subject.namespace, "chaffinch.name": subject.name}
        span = self._tracer.begin(f"{subject.kind} pass", {**place, "chaffinch.uid": subject.uid})
        fields = {"kind": str(subject.kind), "namespace": subject.namespace, str(subject.kind): subject.name}
        if span.trace_id:
            fields["trace_id"] = span.trace_id
        self._open = span, enter(Notes(fields))

    def ended(self, *, failed: bool) -> None:
        """Close it, with what was noted meanwhile."""
        if self._open is None:
            return
        (span, token), self._open = self._open, None
        notes = current_notes()
        leave(token)
        span.end(notes.attributes if notes else {}, failed=failed)


def note_decision(question: Question, seen: Observation, answer: Answer) -> None:
    """Note what the pass that is under way has decided, for its span and for the log lines that follow."""
    notes = current_notes()
    if notes is None:
        return
    after, judgement = answer.next.state, answer.judgement
    notes.attributes.update(
        {
            "chaffinch.stage.before": question.state.stage.value,
            "chaffinch.stage.after": after.stage.value,
            "chaffinch.write_order": answer.next.order.value,
            "chaffinch.acts": answer.next.act,
            "chaffinch.problems": len(seen.problems),
        }
    )
    if judgement is not None:
        notes.attributes["chaffinch.verdict"] = judgement.outcome.value
        notes.attributes["chaffinch.verdict.reason"] = judgement.reason.value
    if after.hold is not None:
        notes.attributes["chaffinch.hold"] = after.hold.reason
    if candidate := after.candidate or question.state.candidate:
        notes.attributes.update(
            {"chaffinch.revision": candidate.revision, "chaffinch.attempt": candidate.attempt}
        )
        notes.fields.update({"revision": candidate.revision, "attempt": str(candidate.attempt)})
    elif after.stable is not None:
        notes.attributes["chaffinch.revision"] = after.stable.revision
        notes.fields["revision"] = after.stable.revision


_ANSWERS = frozenset({"404", "409"})
"""Status codes of refusals that are answers: absent, and somebody else was first."""


def reporting(report: Report, tracer: Tracer) -> Report:
    """Return a report of requests to the API server that adds them to the trace as well."""

    def both(verb: str, kind: str, code: str, seconds: float) -> None:
        report(verb, kind, code, seconds)
        attributes: dict[str, str | int] = {"chaffinch.verb": verb, "chaffinch.kind": kind}
        if code.isdecimal():
            attributes["http.response.status_code"] = int(code)
        failed = code not in _ANSWERS and not code.startswith("2")
        tracer.past(f"{verb} {kind}", attributes, seconds, failed=failed)

    return both
