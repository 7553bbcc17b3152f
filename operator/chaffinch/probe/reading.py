"""From the bytes of one exchange to its outcome and its latencies: pure, and the only place with these rules.

The rules, which are part of what a baseline means:

* The first token is the first event that carries generated text, reasoning, a tool call or a token id. Events
  that only name a role or carry empty text start no clock; comments are no events.
* A failure anywhere in a 200 stream is a failure of the request, whatever had come before.
* Token counts come from ``usage`` alone, the last one seen (engines may send it cumulatively).
* Remote text (messages of errors, completions) goes nowhere beyond this module.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from chaffinch.probe.exchange import End, Exchange
from chaffinch.probe.outcome import Outcome
from chaffinch.probe.sse import EventTooLargeError, SseEvent, SseParser

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server reported them.

    Attributes:
        prompt: Tokens of the prompt.
        output: Tokens generated.
        cached: Tokens of the prompt that came from the prefix cache; None if the server does not say.
    """

    prompt: int
    output: int
    cached: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """One request, measured. All latencies are in seconds.

    Attributes:
        outcome: How it turned out.
        ttft: From sending to the first token; +infinity if the request failed before one came.
        e2e: From sending to the last token; +infinity if the request failed.
        tpot: Mean time per output token after the first; +infinity if the request failed, None if it is
            not defined (one token) or not known (no usage).
        gaps: Times between successive events that carry tokens, also of failed requests.
        usage: Token counts; None if the server reported none or the request failed.
    """

    outcome: Outcome
    ttft: float
    e2e: float
    tpot: float | None
    gaps: tuple[float, ...]
    usage: Usage | None


@dataclass(slots=True)
class _Stream:
    """What was seen of an event stream so far."""

    token_times: list[float] = field(default_factory=list)
    usage: Usage | None = None
    finish_reasons: set[str] = field(default_factory=set)
    done: bool = False
    in_band_error: bool = False


def read_exchange(exchange: Exchange) -> Reading:
    """Interpret one exchange."""
    stream = _read_stream(exchange) if exchange.status == 200 else _Stream()
    outcome = _outcome(exchange, stream)
    times = stream.token_times
    ttft = times[0] - exchange.sent if times else math.inf
    gaps = tuple(later - earlier for earlier, later in itertools.pairwise(times))
    if outcome.failed:
        return Reading(outcome, ttft, math.inf, math.inf, gaps, None)
    return Reading(outcome, ttft, times[-1] - exchange.sent, _tpot(stream), gaps, stream.usage)


def _tpot(stream: _Stream) -> float | None:
    if stream.usage is None or stream.usage.output < 2:
        return None
    return (stream.token_times[-1] - stream.token_times[0]) / (stream.usage.output - 1)


def _outcome(exchange: Exchange, stream: _Stream) -> Outcome:
    """Name the outcome; what the server said of the request goes before how the connection ended."""
    if exchange.status is None:
        return _WITHOUT_RESPONSE[exchange.end]
    if exchange.status != 200:
        return _outcome_of_status(exchange.status)
    if stream.in_band_error:
        return Outcome.IN_BAND
    if exchange.end is not End.COMPLETE:
        return Outcome.TIMEOUT if exchange.end is End.TIMEOUT else Outcome.CUT
    return _outcome_of_stream(stream, exchange.tokens_asked)


_WITHOUT_RESPONSE = {
    End.REFUSED: Outcome.REFUSED,
    End.RESET: Outcome.RESET,
    End.CUT: Outcome.RESET,
    End.COMPLETE: Outcome.RESET,
    End.TIMEOUT: Outcome.TIMEOUT,
}


def _outcome_of_status(status: int) -> Outcome:
    if status == 429:
        return Outcome.THROTTLED
    if 400 <= status < 500:
        return Outcome.CLIENT_ERROR
    # A redirect or an odd 2xx is no answer to a completion request either: the server's fault.
    return Outcome.SERVER_ERROR


def _outcome_of_stream(stream: _Stream, tokens_asked: int) -> Outcome:
    if "abort" in stream.finish_reasons:
        return Outcome.ABORTED
    if not stream.token_times:
        return Outcome.EMPTY
    if not (stream.finish_reasons or stream.done or stream.usage):
        return Outcome.CUT  # an orderly end of the body, in the middle of an answer
    if stream.usage is not None and stream.usage.output < tokens_asked:
        return Outcome.SHORT
    return Outcome.OK


def _read_stream(exchange: Exchange) -> _Stream:
    stream = _Stream()
    if exchange.media_type != "text/event-stream":
        body = _parse_object(b"".join(read.data for read in exchange.reads).decode("utf-8", errors="replace"))
        stream.in_band_error = body is not None and _is_error(body)
        return stream
    parser = SseParser()
    try:
        for read in exchange.reads:
            for event in parser.feed(read.data):
                _take_event(stream, event, read.at)
    except EventTooLargeError:
        stream.in_band_error = True
    return stream


def _take_event(stream: _Stream, event: SseEvent, at: float) -> None:
    if event.data.strip() == "[DONE]":
        stream.done = True
        return
    if not event.data.strip() and event.name != "error":
        return  # some proxies keep a stream alive with empty events instead of comments
    chunk = _parse_object(event.data)
    if event.name == "error" or chunk is None or _is_error(chunk):
        stream.in_band_error = True
        return
    if any(_has_token(choice) for choice in _objects(chunk.get("choices"))):
        stream.token_times.append(at)
    for choice in _objects(chunk.get("choices")):
        reason = choice.get("finish_reason")
        if reason == "error":
            stream.in_band_error = True
        elif isinstance(reason, str):
            stream.finish_reasons.add(reason)
    stream.usage = _usage(chunk.get("usage")) or stream.usage


def _parse_object(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_error(body: Json) -> bool:
    return bool(body.get("error")) or body.get("object") == "error"


def _objects(value: object) -> Iterator[Json]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


_GENERATED = ("content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call")


def _has_token(choice: Json) -> bool:
    delta = choice.get("delta")
    if isinstance(delta, dict) and any(delta.get(key) for key in _GENERATED):
        return True
    return bool(choice.get("text") or choice.get("token_ids"))


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    prompt, output = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
    if prompt is None or output is None:
        return None
    details = value.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    return Usage(prompt, output, cached)


def _count(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count and isinstance(value, int) else None
