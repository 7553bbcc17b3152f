"""Case C15 and its kin: every way a request can fail is counted as a failure, over a real socket."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable

import pytest

from chaffinch.domain import grid
from chaffinch.probe.client import Client
from chaffinch.probe.outcome import Outcome
from chaffinch.probe.reading import Reading, read_exchange
from chaffinch.probe.tally import Tally
from unit.probe.rawserver import STREAM_HEAD, Script, reset_after, scripted, segments

HELLO = b'data: {"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}\n\n'
LAST = b'data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"length"}]}\n\n'
DONE = b"data: [DONE]\n\n"
JSON_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
CHUNKED_HEAD = STREAM_HEAD.replace(b"connection: close", b"transfer-encoding: chunked")


def error_event(error: object) -> bytes:
    return f"data: {json.dumps({'error': error})}\n\n".encode()


def usage(output: int, **more: object) -> bytes:
    counts = {"prompt_tokens": 7, "completion_tokens": output, **more}
    return f"data: {json.dumps({'choices': [], 'usage': counts})}\n\n".encode()


def status(code: int) -> Script:
    return segments(head=f"HTTP/1.1 {code} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())


async def hang(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(STREAM_HEAD + HELLO)
    await writer.drain()
    await asyncio.sleep(30)


async def say_nothing(_: bytes, writer: asyncio.StreamWriter) -> None:
    assert not writer.is_closing()
    await asyncio.sleep(30)


IN_BAND = {"message": "engine stopped", "type": "InternalServerError", "code": 500}
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"%s"}]}\n\n'

# name: (what the server does, outcome, whether a first token was seen)
FAILURES: dict[str, tuple[Script, Outcome, bool]] = {
    "an error object in the stream": (segments(HELLO, error_event(IN_BAND), DONE), Outcome.IN_BAND, True),
    "an error text in the stream": (segments(HELLO, error_event("boom"), DONE), Outcome.IN_BAND, True),
    "an error event by name": (
        segments(HELLO, b'event: error\ndata: {"detail":"x"}\n\n', DONE),
        Outcome.IN_BAND,
        True,
    ),
    "an error object of the old shape": (
        segments(b'data: {"object":"error","message":"m","code":400}\n\n', DONE),
        Outcome.IN_BAND,
        False,
    ),
    "an error after the last token": (
        segments(HELLO, LAST, error_event("late"), DONE),
        Outcome.IN_BAND,
        True,
    ),
    "finish_reason error": (segments(HELLO, FINISH % b"error", DONE), Outcome.IN_BAND, True),
    "data that is no JSON": (segments(HELLO, b"data: Internal Server Error\n\n"), Outcome.IN_BAND, True),
    "a 200 body that is an error object": (
        segments(b'{"error":{"message":"boom"}}', head=JSON_HEAD),
        Outcome.IN_BAND,
        False,
    ),
    "a 200 body that is no stream": (segments(b'{"choices":[]}', head=JSON_HEAD), Outcome.EMPTY, False),
    "finish_reason abort": (segments(HELLO, FINISH % b"abort", DONE), Outcome.ABORTED, True),
    "an empty stream": (segments(), Outcome.EMPTY, False),
    "a stream of DONE alone": (segments(DONE), Outcome.EMPTY, False),
    "role and empty deltas alone": (
        segments(
            b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n', FINISH % b"stop", DONE
        ),
        Outcome.EMPTY,
        False,
    ),
    "fewer tokens than forced": (segments(HELLO, LAST, usage(1), DONE), Outcome.SHORT, True),
    "an orderly end in the middle": (segments(HELLO), Outcome.CUT, True),
    "a lost connection in the middle": (reset_after(HELLO), Outcome.CUT, True),
    "a chunked body with no last chunk": (
        segments(b"%x\r\n%s\r\n" % (len(HELLO), HELLO), head=CHUNKED_HEAD),
        Outcome.CUT,
        True,
    ),
    "a lost connection before the response": (reset_after(head=b""), Outcome.RESET, False),
    "a response that is no HTTP": (segments(head=b"\x16\x03\x01 hello\r\n\r\n"), Outcome.RESET, False),
    "silence before the response": (say_nothing, Outcome.TIMEOUT, False),
    "silence in the middle": (hang, Outcome.TIMEOUT, True),
    "500": (status(500), Outcome.SERVER_ERROR, False),
    "503": (status(503), Outcome.SERVER_ERROR, False),
    "a redirect": (status(302), Outcome.SERVER_ERROR, False),
    "400": (status(400), Outcome.CLIENT_ERROR, False),
    "404": (status(404), Outcome.CLIENT_ERROR, False),
    "429": (status(429), Outcome.THROTTLED, False),
}


def tally_of(readings: Iterable[Reading]) -> Tally:
    tally = Tally()
    for reading in readings:
        tally.add(reading)
    return tally


async def read(script: Script, timeout_seconds: float = 0.3) -> Reading:
    async with scripted(script) as url, Client() as client:
        exchange = await client.exchange(url, b"{}", tokens_asked=2, timeout_seconds=timeout_seconds)
    return read_exchange(exchange)


@pytest.mark.parametrize(("script", "want", "first_token"), FAILURES.values(), ids=FAILURES)
async def test_a_failure_is_named_and_counts_as_endless(
    script: Script, want: Outcome, first_token: bool
) -> None:
    reading = await read(script)
    assert reading.outcome is want
    assert (reading.e2e, reading.tpot, reading.usage) == (math.inf, math.inf, None)
    assert (reading.ttft < math.inf) == first_token


async def test_nobody_listening_is_a_refused_request() -> None:
    async with scripted(segments()) as url:
        pass  # the port is free again
    async with Client() as client:
        exchange = await client.exchange(url, b"{}", tokens_asked=2, timeout_seconds=5)
    assert read_exchange(exchange).outcome is Outcome.REFUSED


SUCCESSES: dict[str, Script] = {
    "usage and DONE": segments(HELLO, LAST, usage(2), DONE),
    "DONE missing": segments(HELLO, LAST, usage(2)),
    "an error field of null": segments(
        HELLO.replace(b'{"choices"', b'{"error":null,"choices"'), LAST, usage(2), DONE
    ),
    "empty events between": segments(HELLO, b"data: \n\n", LAST, usage(2), DONE),
    "a usage in every chunk, cumulative": segments(HELLO, usage(1), LAST, usage(2), DONE),
}


@pytest.mark.parametrize("script", SUCCESSES.values(), ids=SUCCESSES)
async def test_an_answer_as_asked_for_is_no_failure(script: Script) -> None:
    reading = await read(script, timeout_seconds=20)
    assert reading.outcome is Outcome.OK
    assert reading.usage is not None
    assert reading.usage.output == 2, "the last usage, not the sum"


FIRST_TOKENS = {
    "text": {"content": "a"},
    "reasoning": {"reasoning_content": "hm"},
    "reasoning of newer servers": {"reasoning": "hm"},
    "a tool call": {"tool_calls": [{"index": 0, "function": {"name": "f"}}]},
}


@pytest.mark.parametrize("delta", FIRST_TOKENS.values(), ids=FIRST_TOKENS)
async def test_the_first_token_may_be_of_any_kind(delta: dict[str, object]) -> None:
    event = f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode()
    assert (await read(segments(event, FINISH % b"stop", usage(2), DONE))).outcome is Outcome.OK


async def test_a_third_of_in_band_errors_leaves_the_median_and_unbounds_the_tail() -> None:
    """34 of 100 fail after 5 ms and 66 take 748 ms, here a tenth of it."""
    count = 0

    async def script(body: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        if count % 3 == 0 or count == 1:
            await segments(HELLO, error_event(IN_BAND), DONE, pause=0.0005)(body, writer)
        else:
            await segments(HELLO, LAST, usage(2), DONE, pause=0.0374)(body, writer)

    async with scripted(script) as url, Client() as client:
        exchanges = await asyncio.gather(
            *(client.exchange(url, b"{}", tokens_asked=2, timeout_seconds=20) for _ in range(100))
        )
    tally = tally_of(read_exchange(exchange) for exchange in exchanges)
    assert tally.errors_by_kind == {"error_in_band": 34}
    assert (tally.requests, tally.output_tokens) == (100, 132), "no token of a failed request counts"
    e2e = grid.decode(tally.sketches().e2e or "")
    assert 0.0748 <= (e2e.quantile_seconds(0.5) or 0) < 20, "the fast failures do not pull it down"
    assert e2e.quantile_seconds(0.95) == math.inf


async def test_unknown_tokens_leave_latencies_and_take_token_metrics_away() -> None:
    known = await read(segments(HELLO, LAST, usage(2), DONE))
    unknown = await read(segments(HELLO, LAST, DONE))
    tally = tally_of([known, unknown])
    assert (tally.requests, tally.errors, tally.unknown_tokens) == (2, 0, 1)
    sketches = tally.sketches()
    assert sketches.tpot is None
    assert grid.decode(sketches.ttft or "").total == grid.decode(sketches.e2e or "").total == 2


async def test_time_per_output_token_is_not_defined_for_one_token() -> None:
    one = segments(HELLO, FINISH % b"length", usage(1), DONE)
    async with scripted(one) as url, Client() as client:
        exchange = await client.exchange(url, b"{}", tokens_asked=1, timeout_seconds=20)
    reading = read_exchange(exchange)
    assert (reading.outcome, reading.tpot, reading.gaps) == (Outcome.OK, None, ())
    assert tally_of([reading]).sketches().tpot is None


async def test_cached_tokens_are_kept_when_every_answer_tells_them() -> None:
    told = await read(segments(HELLO, LAST, usage(2, prompt_tokens_details={"cached_tokens": 4}), DONE))
    silent = await read(segments(HELLO, LAST, usage(2), DONE))
    assert tally_of([told, told]).cached_tokens == 8
    assert tally_of([told, silent]).cached_tokens is None
