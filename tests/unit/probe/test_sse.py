from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.probe import sse
from chaffinch.probe.sse import EventTooLargeError, SseEvent, SseParser

STREAMS = {
    "an event": (b"data: a\n\n", [("message", "a")]),
    "only one blank is taken off": (b"data:  a\n\n", [("message", " a")]),
    "data lines are joined": (b"data: a\ndata: b\n\n", [("message", "a\nb")]),
    "a field with no colon is an empty value": (
        b"data\n\ndata\ndata\n\n",
        [("message", ""), ("message", "\n")],
    ),
    "an event of no data is not dispatched and its name is forgotten": (
        b"event: x\n\ndata: a\n\n",
        [("message", "a")],
    ),
    "a named event": (b"event: error\ndata: a\n\n", [("error", "a")]),
    "the last name wins": (b"event: x\nevent: y\ndata: a\n\n", [("y", "a")]),
    "comments and unknown fields are skipped": (b":c\nid: 1\nnope: x\n:\ndata: a\n\n", [("message", "a")]),
    "an unfinished event is dropped": (b"data: a\n\ndata: b\n", [("message", "a")]),
    "a colon in the value is data": (b"data: a:b\n\n", [("message", "a:b")]),
    "bytes that are no UTF-8 are replaced": (b"data: \xff\n\n", [("message", "\ufffd")]),
    "a mark inside the stream is data": (
        b"data: a\n\ndata: \xef\xbb\xbfb\n\n",
        [("message", "a"), ("message", "\ufeffb")],
    ),
    "line ends may be mixed": (b"data: a\r\ndata: b\rdata: c\n\r", [("message", "a\nb\nc")]),
    "unicode line separators are data": (
        "data: a\u2028b\x85c\x0bd\n\n".encode(),
        [("message", "a\u2028b\x85c\x0bd")],
    ),
}


@pytest.mark.parametrize(("stream", "want"), STREAMS.values(), ids=STREAMS)
def test_streams_are_read_as_the_standard_says(stream: bytes, want: list[tuple[str, str]]) -> None:
    assert SseParser().feed(stream) == [SseEvent(name, data) for name, data in want]


_PIECES = st.sampled_from(
    [b"data: a", b"data:\xe2\x82\xac", b"event: e", b":", b"\n", b"\r", b"\r\n", b"x", b"\xef\xbb\xbf"]
)


@given(pieces=st.lists(_PIECES, max_size=30), cuts=st.lists(st.integers(0, 200), max_size=10))
def test_cutting_a_stream_anywhere_changes_nothing(pieces: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(pieces)
    parser, start, found = SseParser(), 0, []
    for cut in sorted({min(cut, len(stream)) for cut in cuts} | {len(stream)}):
        found += parser.feed(stream[start:cut])
        start = cut
    assert found == SseParser().feed(stream)


def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 20)
    parser = SseParser()
    parser.feed(b"data: 0123\ndata: 4567\n")
    with pytest.raises(EventTooLargeError, match="20 bytes"):
        parser.feed(b"data: 89012345")
