"""Builds lines of the access log for tests."""

from __future__ import annotations

import json
from typing import Any

from chaffinch.agent.accesslog import LineKind, LogLine, parse_line

REVISION = "aaaaaaaa"
OTHER = "bbbbbbbb"
ATTEMPT = 3


def fields(**changes: object) -> dict[str, Any]:
    """Return the fields of a well-ended stream as Envoy writes them, with changes."""
    return {
        "type": "DownstreamEnd",
        "id": "d136204c-e7dc-4436-ab5d-ff59e8aaf5c6",
        "start": "1700000000.500000",
        "method": "POST",
        "attempt": str(ATTEMPT),
        "revision": REVISION,
        "code": 200,
        "details": "via_upstream",
        "flags": "-",
        "media": "text/event-stream; charset=utf-8",
        "bytes": 180,
        "age": 303,
        "ttft": 202_594,
        "e2e": 303_583,
        "host": "10.0.0.7:8000",
        "request": "d136204c-e7dc-4436-ab5d-ff59e8aaf5c6",
        **changes,
    }


def line(**changes: object) -> LogLine:
    """Return the line of such fields, read by the parser."""
    return parse_line(json.dumps(fields(**changes)).encode())


def begin(stream: str, start: float, revision: str = REVISION) -> LogLine:
    """Return the line of a request that begins."""
    return _at(LineKind.BEGIN, stream, start, revision=revision, code=0, age=0, bytes=0, ttft=None, e2e=None)


def progress(stream: str, start: float, ttft: float | None, revision: str = REVISION) -> LogLine:
    """Return the line of a request that is under way, with its first token if that has come."""
    first = None if ttft is None else round(ttft * 1e6)
    return _at(LineKind.PROGRESS, stream, start, revision=revision, ttft=first, e2e=None)


def end(stream: str, start: float, ttft: float, e2e: float, **more: object) -> LogLine:
    """Return the line of a stream that ended well."""
    return _at(LineKind.END, stream, start, ttft=round(ttft * 1e6), e2e=round(e2e * 1e6), **more)


def _at(kind: LineKind, stream: str, start: float, **more: object) -> LogLine:
    return line(type=kind.value, id=stream, start=f"{start:.6f}", **more)
