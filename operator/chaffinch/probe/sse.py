"""Server-sent events, parsed from bytes as the WHATWG HTML standard says (section "Server-sent events").

Engines and proxies differ in line ends, segmenting and comments, and a simple ``split("\\n\\n")`` loses
tokens on legal streams, which would look like a regression of the server. The parser works on bytes and
decodes whole events only, so that a character may be cut anywhere between two reads.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_EVENT_BYTES = 4 * 1024 * 1024
"""More than any engine sends in one event; beyond it the peer is not speaking SSE."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLargeError(ValueError):
    """An event, or a line of one, passed :data:`MAX_EVENT_BYTES`."""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One dispatched event.

    Attributes:
        name: The event's type; ``message`` unless the stream named another.
        data: The data lines, joined by newlines.
    """

    name: str
    data: str


class SseParser:
    """An incremental parser of one stream; feed it the reads of a response body in order.

    An event belongs to the read that completed it. What is unfinished when the stream ends is never
    dispatched, as the standard demands.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._first_line = True
        self._after_carriage_return = False
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, segment: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events that they complete.

        Raises:
            EventTooLargeError: If an unfinished event grows past :data:`MAX_EVENT_BYTES`.
        """
        if not segment:
            return []
        if self._after_carriage_return and segment[:1] == b"\n":
            segment = segment[1:]  # the second half of a CRLF whose first half ended the last read
            self._after_carriage_return = False
        events = []
        # bytes.splitlines knows LF, CR and CRLF only: U+2028 and its like stay data.
        for piece in segment.splitlines(keepends=True):
            stripped = piece.rstrip(b"\r\n")
            self._line += stripped
            if len(self._line) + self._data_bytes > MAX_EVENT_BYTES:
                raise EventTooLargeError(f"an event passed {MAX_EVENT_BYTES} bytes")
            if len(stripped) < len(piece):
                event = self._end_of_line()
                if event is not None:
                    events.append(event)
        if segment:
            self._after_carriage_return = segment.endswith(b"\r")
        return events

    def _end_of_line(self) -> SseEvent | None:
        line = bytes(self._line)
        self._line.clear()
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")  # a comment is a line with an empty field name
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
        elif field == b"event":
            self._name = value.decode("utf-8", errors="replace")
        return None  # id and retry steer reconnecting, which a measurement must not do

    def _dispatch(self) -> SseEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._data_bytes = "", [], 0
        if not data:
            return None
        return SseEvent(name or "message", b"\n".join(data).decode("utf-8", errors="replace"))
