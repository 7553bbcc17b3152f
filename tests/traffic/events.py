"""Reads server-sent events from pieces of bytes, by the rules of the HTML standard.

All of them, because a reader that only knows ``data: …`` with two line feeds finds failures where there
are none: line ends of three kinds, comments, data over several lines, pieces that end anywhere.
"""

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        name: Its type; empty if none was given.
        data: Its data, lines joined by line feeds.
    """

    name: str
    data: str


class EventReader:
    """Collects pieces of a stream into events; an event without its closing blank line never comes out."""

    def __init__(self) -> None:
        self._rest = b""
        self._at_start = True
        self._after_return = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[Event]:
        """Take the next piece; returns the events that it completes."""
        text = self._joined(piece)
        *lines, self._rest = _LINE_END.split(text)
        # A carriage return at the very end closed its line; a line feed right after it belongs to it.
        self._after_return = text.endswith(b"\r")
        return [event for line in lines if (event := self._take(line)) is not None]

    def _joined(self, piece: bytes) -> bytes:
        if self._after_return and piece:
            piece = piece.removeprefix(b"\n")
        text = self._rest + piece
        if self._at_start and len(text) >= len(_BYTE_ORDER_MARK):
            text = text.removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        return text

    def _take(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode(errors="replace")
        if field == b"data":
            self._data.append(text)
        elif field == b"event":
            self._name = text
        return None

    def _dispatch(self) -> Event | None:
        event = Event(self._name, "\n".join(self._data)) if self._data else None
        self._name, self._data = "", []
        return event
