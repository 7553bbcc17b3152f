"""What became of a request, from the last line that Envoy wrote about it.

The rules are tried in order and the first that holds decides; the last one always holds. What the
access log cannot show is an error event inside a well-ended stream of a status of 200: that is the
probe's to find. Nor can it tell a cut from an end if the engine frames its answer neither by length
nor by chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from chaffinch.agent.accesslog import LogLine
from chaffinch.domain.block_vector import ERRORS, Outcome

EVENT_STREAM = "text/event-stream"
EMPTY_STREAM_BYTES = len("data: [DONE]\r\n\r\n")
"""A stream whose body is no longer than its own terminator held no event."""

_CLIENT_LEFT = frozenset({"DC", "DR"})
_NO_CONNECTION = frozenset({"UF", "UH", "UO"})


@dataclass(frozen=True, slots=True)
class Result:
    """What is counted of one finished request.

    Attributes:
        outcome: How it ended.
        ttft: Seconds to the first token, infinite if none came; None if it says nothing about it.
        e2e: Seconds to the last byte, infinite if it never came; None if it says nothing about it.
        left: Seconds after which the client left without a first byte; None if it did not.
    """

    outcome: Outcome
    ttft: float | None
    e2e: float | None
    left: float | None = None


def is_evidence(line: LogLine) -> bool:
    """Say whether a request tells something about a revision.

    Requests that no revision was chosen for do not. Only POST asks an engine to generate: a health
    check or a list of models that is fetched through the router must not pass for a fast answer.
    """
    return line.method == "POST" and line.revision is not None and line.attempt is not None


def outcome_of(line: LogLine) -> Outcome:
    """Return how a finished request ended."""
    return next(outcome for outcome, holds in RULES if holds(line))


def result_of(line: LogLine) -> Result:
    """Return what is counted of a finished request.

    A failure never is a fast answer: its latencies are infinite, but for a first token that did
    come. Who left before the first byte has waited in vain until then. That is no first token at that
    age: the wait is told apart, and counts against every limit that it exceeds, and for none. A
    request that was refused for the client's sake or for lack of room has no latency.
    """
    outcome = outcome_of(line)
    ttft = first_token(line)
    if outcome in ERRORS:
        came = outcome is Outcome.ERROR_CUT and ttft is not None
        return Result(outcome, ttft if came else math.inf, math.inf)
    if outcome is Outcome.CLIENT_GONE_EARLY:
        return Result(outcome, None, None, left=line.age)
    if outcome is Outcome.CLIENT_GONE_LATE:
        return Result(outcome, ttft, None)
    if outcome is Outcome.OK:
        return Result(outcome, ttft, line.e2e)
    return Result(outcome, None, None)


def first_token(line: LogLine) -> float | None:
    """Return the time to the first token so far: only a stream of events shows one."""
    return line.ttft if line.media == EVENT_STREAM else None


def _left_early(line: LogLine) -> bool:
    return _left(line) and line.ttft is None


def _left(line: LogLine) -> bool:
    # Who leaves after the engine's last byte has been answered.
    return bool(line.flags & _CLIENT_LEFT) and line.e2e is None


def _refused(line: LogLine) -> bool:
    return bool(line.flags & _NO_CONNECTION)


def _reset(line: LogLine) -> bool:
    return line.details.startswith("upstream_reset_before_response_started")


def _server_error(line: LogLine) -> bool:
    return line.code >= 500


def _throttled(line: LogLine) -> bool:
    return line.code == 429


def _client_error(line: LogLine) -> bool:
    return 400 <= line.code < 500


def _cut(line: LogLine) -> bool:
    return line.e2e is None


def _empty(line: LogLine) -> bool:
    return line.media == EVENT_STREAM and line.body_bytes <= EMPTY_STREAM_BYTES


def _answered(_: LogLine) -> bool:
    return True


RULES: tuple[tuple[Outcome, Callable[[LogLine], bool]], ...] = (
    (Outcome.CLIENT_GONE_EARLY, _left_early),
    (Outcome.CLIENT_GONE_LATE, _left),
    (Outcome.ERROR_REFUSED, _refused),
    (Outcome.ERROR_RESET, _reset),
    (Outcome.ERROR_5XX, _server_error),
    (Outcome.THROTTLED, _throttled),
    (Outcome.CLIENT_4XX, _client_error),
    (Outcome.ERROR_CUT, _cut),
    (Outcome.ERROR_EMPTY, _empty),
    (Outcome.OK, _answered),
)
"""Outcomes with the rule that says when they hold, in the order in which they are tried."""
