"""Case C24: every legal framing of one answer reads the same, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from chaffinch.probe.client import Client
from chaffinch.probe.exchange import End, Exchange
from chaffinch.probe.outcome import Outcome
from chaffinch.probe.reading import Usage, read_exchange
from chaffinch.probe.sse import SseParser
from unit.probe.rawserver import one_byte_each, scripted, segments

TEXT = "Grüße €"


def chunk(text: str, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


ROLE = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}}
CHUNKS = [ROLE, chunk("Grü"), chunk("ße "), chunk("€", "length"), USAGE]


def dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def events(prefix: str = "data: ", end: str = "\n\n", done: str = "data: [DONE]\n\n") -> list[bytes]:
    return [f"{prefix}{dump(value)}{end}".encode() for value in CHUNKS] + [done.encode()]


def three_data_lines() -> list[bytes]:
    def spread(value: object) -> str:
        lines = json.dumps(value, ensure_ascii=False, indent=None).split(", ", 2)
        return "".join(f"data: {line}{',' if i < len(lines) - 1 else ''}\n" for i, line in enumerate(lines))

    return [(spread(value) + "\n").encode() for value in CHUNKS] + [b"data: [DONE]\n\n"]


def split_inside_the_euro() -> list[bytes]:
    body = b"".join(events())
    middle = body.index("€".encode()) + 1
    return [body[:middle], body[middle:]]


def with_line_separator() -> list[bytes]:
    spaced = [ROLE, chunk("Grü"), {**chunk("ße "), "note": "a\u2028b"}, chunk("€", "length"), USAGE]
    return [f"data: {dump(value)}\n\n".encode() for value in spaced] + [b"data: [DONE]\n\n"]


FRAMINGS: dict[str, Sequence[bytes]] = {
    "01 data, blank, line feeds": events(),
    "02 no blank after the colon": events(prefix="data:"),
    "03 carriage return and line feed": events(end="\r\n\r\n", done="data: [DONE]\r\n\r\n"),
    "04 carriage returns alone": events(end="\r\r", done="data: [DONE]\r\r"),
    "05 a line end cut in two": [part for e in events(end="\r\n\r\n") for part in (e[:-1], e[-1:])],
    "06 comments between events": [b": ping\n\n"] * 4
    + [p for e in events() for p in (b":\n", e, b": ping\n\n")],
    "07 one JSON over three data lines": three_data_lines(),
    "08 a character cut in two": split_inside_the_euro(),
    "09 a raw line separator inside a string": with_line_separator(),
    "10 blanks behind DONE": events(done="data: [DONE] \n\n"),
    "11 two events in one segment": [b"".join(events()[:2]), *events()[2:]],
    "12 a byte order mark first": [b"\xef\xbb\xbf", *events()],
    "13 other and unknown fields": [
        f"id: 7\nretry: 10\nwhatever\nfoo: bar\ndata: {dump(value)}\n\n".encode() for value in CHUNKS
    ]
    + [b"data: [DONE]\n\n"],
}


async def fetch(parts: Sequence[bytes]) -> Exchange:
    async with scripted(segments(*parts)) as url, Client() as client:
        return await client.exchange(url, b"{}", tokens_asked=3, timeout_seconds=20)


def text_of(exchange: Exchange) -> str:
    parser = SseParser()
    found = [event.data for read in exchange.reads for event in parser.feed(read.data)]
    chunks = [json.loads(data) for data in found if data.strip() != "[DONE]"]
    return "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])


@pytest.mark.parametrize(
    "cut", [list, lambda parts: one_byte_each(b"".join(parts))], ids=["as sent", "bytes"]
)
@pytest.mark.parametrize("parts", FRAMINGS.values(), ids=FRAMINGS)
async def test_every_legal_framing_gives_the_same_answer(parts: Sequence[bytes], cut: object) -> None:
    assert callable(cut)
    exchange = await fetch(cut(parts))
    reading = read_exchange(exchange)
    assert (exchange.end, exchange.status, exchange.media_type) == (End.COMPLETE, 200, "text/event-stream")
    assert text_of(exchange) == TEXT
    assert reading.outcome is Outcome.OK
    assert reading.usage == Usage(prompt=5, output=3, cached=None)
    assert len(reading.gaps) == 2, "three events carry text: the role and the comments are no chunks"
    assert 0 < reading.ttft <= reading.e2e < 20


@pytest.mark.parametrize("one_byte", [False, True], ids=["as sent", "bytes"])
async def test_an_unfinished_last_event_is_not_used_and_is_no_error(one_byte: bool) -> None:
    *whole, usage = [f"data: {dump(value)}\n\n".encode() for value in CHUNKS]
    parts = [*whole, usage.removesuffix(b"\n\n")]
    reading = read_exchange(await fetch(one_byte_each(b"".join(parts)) if one_byte else parts))
    assert reading.outcome is Outcome.OK
    assert (reading.usage, reading.tpot) == (None, None), "the tokens are unknown, not guessed"
    assert reading.ttft <= reading.e2e < 20


async def test_comments_before_the_first_token_start_no_clock() -> None:
    pings = [b": ping\n\n"] * 10
    async with scripted(segments(*pings, *events(), pause=0.02)) as url, Client() as client:
        exchange = await client.exchange(url, b"{}", tokens_asked=3, timeout_seconds=20)
    first_ping = exchange.reads[0].at - exchange.sent
    reading = read_exchange(exchange)
    assert reading.ttft > first_ping + 0.15, "the first token came after ten pings and the role"


async def test_an_event_has_the_time_of_the_read_that_completed_it() -> None:
    first, rest = events()[1], b"".join(events()[2:])
    async with scripted(segments(first[:-1], b"\n", rest, pause=0.05)) as url, Client() as client:
        exchange = await client.exchange(url, b"{}", tokens_asked=3, timeout_seconds=20)
    assert read_exchange(exchange).ttft == exchange.reads[1].at - exchange.sent
