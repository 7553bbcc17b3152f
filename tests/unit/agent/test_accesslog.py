from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.agent.accesslog import LineKind, LogLine, MalformedLineError, parse_line
from unit.agent.lines import fields, line


def test_a_line_is_read_with_units_in_seconds() -> None:
    assert line() == LogLine(
        kind=LineKind.END,
        stream="d136204c-e7dc-4436-ab5d-ff59e8aaf5c6",
        start=1700000000.5,
        method="POST",
        attempt=3,
        revision="aaaaaaaa",
        code=200,
        details="via_upstream",
        flags=frozenset(),
        media="text/event-stream",
        body_bytes=180,
        age=0.303,
        ttft=0.202594,
        e2e=0.303583,
    )


def test_the_line_of_a_beginning_request_has_no_answer_yet() -> None:
    began = line(
        type="DownstreamStart",
        code=0,
        details=None,
        media=None,
        bytes=0,
        age=0,
        ttft=None,
        e2e=None,
        host=None,
    )
    assert (began.kind, began.code, began.details, began.media) == (LineKind.BEGIN, 0, "", "")
    assert (began.ttft, began.e2e) == (None, None)


def test_a_request_that_no_route_took_has_neither_attempt_nor_revision() -> None:
    lost = line(attempt="-", revision=None)
    assert (lost.attempt, lost.revision) == (None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "TcpUpstreamConnected"},
        {"type": None},
        {"id": None},
        {"id": 7},
        {"start": "yesterday"},
        {"start": "1e9.000000"},
        {"start": 1700000000.5},
        {"start": "\u0661700000000.000000"},
        {"revision": "not-ours"},
        {"code": "200"},
        {"code": -1},
        {"code": True},
        {"bytes": 1.5},
        {"ttft": -1},
        {"ttft": float("nan")},
        {"e2e": 2**60},
        {"flags": 3},
        {"details": "x" * 5_000},
    ],
)
def test_a_line_with_a_wrong_field_is_malformed(changes: dict[str, object]) -> None:
    with pytest.raises(MalformedLineError):
        line(**changes)


@pytest.mark.parametrize("key", sorted(set(fields()) - {"host", "request"}))
def test_a_line_without_a_field_is_malformed(key: str) -> None:
    incomplete = {name: value for name, value in fields().items() if name != key}
    with pytest.raises(MalformedLineError):
        parse_line(json.dumps(incomplete).encode())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"7", b"\xff\xfe", b"[" * 4_000])
def test_what_is_no_object_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedLineError):
        parse_line(data)


@given(st.binary(max_size=300))
def test_no_bytes_make_the_parser_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(MalformedLineError):
        parse_line(data)


_ODD: list[object] = [None, True, 0, -1, 2**70, 1.5, float("inf"), "", "-", "x", "1", [], {}, [[]]]


@given(st.sampled_from(sorted(fields())), st.sampled_from(_ODD))
def test_no_value_makes_the_parser_raise_anything_else(key: str, value: object) -> None:
    with contextlib.suppress(MalformedLineError):
        line(**{key: value})
