"""One line of Envoy's access log: what is asked for, and how it is read back.

Envoy writes a line when a request begins, one every :data:`PROGRESS_SECONDS` while it runs, and
one at its end. The log never holds a path, a query, a prompt or an answer. Lines are JSON because
Envoy escapes a header's value there: no engine can write a line of its own.

``COMMON_DURATION(DS_RX_BEG:US_RX_BODY_BEG)`` is the time from the first byte of the request to the
first byte of the answer's *body*. For a stream of events that is the time to the first token, on
condition that the engine sends nothing before it; the header time would be far too small, since
engines send headers at once.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from chaffinch.domain.names import is_revision

PROGRESS_SECONDS = 20
LONGEST_LINE = 4096
_TIME = re.compile(r"[0-9]{1,12}\.[0-9]{6}")

FORMAT: dict[str, str] = {
    "type": "%ACCESS_LOG_TYPE%",
    # Not STREAM_ID: that is the request's x-request-id, which clients choose and repeat.
    "id": "%CONNECTION_ID%-%START_TIME(%s.%9f)%",
    "start": "%START_TIME(%s.%6f)%",
    "method": "%REQ(:METHOD):10%",
    "attempt": "%ROUTE_NAME%",
    "revision": "%UPSTREAM_CLUSTER_RAW%",
    "code": "%RESPONSE_CODE%",
    "details": "%RESPONSE_CODE_DETAILS%",
    "flags": "%RESPONSE_FLAGS%",
    "media": "%RESP(CONTENT-TYPE):60%",
    "bytes": "%BYTES_SENT%",
    "age": "%DURATION%",
    "ttft": "%COMMON_DURATION(DS_RX_BEG:US_RX_BODY_BEG:us)%",
    "e2e": "%COMMON_DURATION(DS_RX_BEG:US_RX_END:us)%",
    # For people who read the log; the agent does not.
    "host": "%UPSTREAM_HOST%",
    "request": "%REQ(X-REQUEST-ID):64%",
}
"""The line's keys and Envoy's command operators for them."""


class LineKind(StrEnum):
    """When in a request's life a line was written; the values are Envoy's."""

    BEGIN = "DownstreamStart"
    PROGRESS = "DownstreamPeriodic"
    END = "DownstreamEnd"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One request as far as it had come when the line was written.

    Attributes:
        kind: When the line was written.
        stream: An id of the request that is the same in all of its lines: connection and begin.
        start: When the request began, in Unix seconds.
        method: The HTTP method.
        attempt: The attempt of the route that took the request; None before one did.
        revision: The revision that it was sent to; None before that, or if none was.
        code: The status that the client was sent; 0 for none.
        details: Envoy's account of how the answer came to its end.
        flags: Envoy's response flags.
        media: The answer's media type, in lower case and without parameters; "" for none.
        body_bytes: Bytes of the answer's body that were sent.
        age: Seconds from the request's begin to this line.
        ttft: Seconds to the first byte of the answer's body; None if there was none.
        e2e: Seconds to the answer's last byte from the engine; None if it did not come.
    """

    kind: LineKind
    stream: str
    start: float
    method: str
    attempt: int | None
    revision: str | None
    code: int
    details: str
    flags: frozenset[str]
    media: str
    body_bytes: int
    age: float
    ttft: float | None
    e2e: float | None


class MalformedLineError(ValueError):
    """A line that is not of our format. It is counted, and nothing else is made of it."""


def parse_line(line: bytes) -> LogLine:
    """Read one line (without its newline).

    Raises:
        MalformedLineError: Whatever is wrong with the line; no other exception leaves.
    """
    if len(line) > LONGEST_LINE:
        raise MalformedLineError("a line is too long")
    try:
        fields = json.loads(line)
        return _line_of(fields)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise MalformedLineError("a line is not of the access log's format") from None


def _line_of(fields: dict[str, Any]) -> LogLine:
    attempt = _text(fields, "attempt")
    return LogLine(
        kind=LineKind(fields["type"]),
        stream=_text(fields, "id") or _missing("id"),
        start=_start(fields["start"]),
        method=_text(fields, "method"),
        attempt=int(attempt) if attempt.isascii() and attempt.isdecimal() else None,
        revision=_revision(fields),
        code=_count(fields, "code"),
        details=_text(fields, "details"),
        flags=frozenset(_text(fields, "flags").split(",")) - {""},
        media=_text(fields, "media").partition(";")[0].strip().lower(),
        body_bytes=_count(fields, "bytes"),
        age=_count(fields, "age") / 1_000,
        ttft=_microseconds(fields, "ttft"),
        e2e=_microseconds(fields, "e2e"),
    )


def _text(fields: dict[str, Any], key: str) -> str:
    value = fields[key]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedLineError(f"{key} is no text")
    return "" if value == "-" else value


def _revision(fields: dict[str, Any]) -> str | None:
    revision = _text(fields, "revision")
    if revision and not is_revision(revision):
        raise MalformedLineError("revision is none of ours")
    return revision or None


def _missing(key: str) -> str:
    raise MalformedLineError(f"{key} is missing")


def _count(fields: dict[str, Any], key: str) -> int:
    value = fields[key]
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value < 2**53:
        raise MalformedLineError(f"{key} is no count")
    return value


def _microseconds(fields: dict[str, Any], key: str) -> float | None:
    return None if fields[key] is None else _count(fields, key) / 1_000_000


def _start(value: object) -> float:
    if not isinstance(value, str) or _TIME.fullmatch(value) is None:
        raise MalformedLineError("start is no time")
    return float(value)
