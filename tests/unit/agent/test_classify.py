from __future__ import annotations

import math

import pytest

from chaffinch.agent.classify import Result, is_evidence, result_of
from chaffinch.domain.block_vector import Outcome
from unit.agent.lines import line

NONE = {"ttft": None, "e2e": None}
NO_BODY = {**NONE, "media": None, "bytes": 0}
RESET = "upstream_reset_before_response_started{connection_termination}"
REFUSED = "upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error}"
CUT = "upstream_reset_after_response_started{protocol_error}"
LEFT = "downstream_remote_disconnect"

# Each line is one that Envoy 1.40 wrote in the situation that its name tells.
CASES: dict[str, tuple[dict[str, object], Outcome, float | None, float | None]] = {
    "a stream that ended well": ({}, Outcome.OK, 0.202594, 0.303583),
    "an answer in one piece has no first token": (
        {"media": "application/json"},
        Outcome.OK,
        None,
        0.303583,
    ),
    "the client leaves after the engine's last byte": (
        {"flags": "DC", "details": LEFT},
        Outcome.OK,
        0.202594,
        0.303583,
    ),
    "an internal server error": (
        {"code": 500, "media": "text/plain", "ttft": 639, "e2e": 642},
        Outcome.ERROR_5XX,
        math.inf,
        math.inf,
    ),
    "silence until the idle timeout, before the answer": (
        {"code": 504, "flags": "SI", "details": "stream_idle_timeout", **NO_BODY},
        Outcome.ERROR_5XX,
        math.inf,
        math.inf,
    ),
    "a refused connection": (
        {"code": 503, "flags": "UF", "details": REFUSED, **NONE},
        Outcome.ERROR_REFUSED,
        math.inf,
        math.inf,
    ),
    "no endpoint at all": (
        {"code": 503, "flags": "UH", "details": "no_healthy_upstream", **NONE},
        Outcome.ERROR_REFUSED,
        math.inf,
        math.inf,
    ),
    "a connection reset before the answer": (
        {"code": 503, "flags": "UC", "details": RESET, **NONE},
        Outcome.ERROR_RESET,
        math.inf,
        math.inf,
    ),
    "a stream cut after its first token": (
        {"flags": "UPE", "details": CUT, "e2e": None},
        Outcome.ERROR_CUT,
        0.202594,
        math.inf,
    ),
    "a stream cut after its headers": (
        {"flags": "UC", "details": CUT, **NONE, "bytes": 0},
        Outcome.ERROR_CUT,
        math.inf,
        math.inf,
    ),
    "silence until the idle timeout, in the answer": (
        {"flags": "SI", "details": "stream_idle_timeout", "e2e": None},
        Outcome.ERROR_CUT,
        0.202594,
        math.inf,
    ),
    "a stream without a byte": ({"bytes": 0, "ttft": 1_108}, Outcome.ERROR_EMPTY, math.inf, math.inf),
    "a stream of nothing but its terminator": ({"bytes": 14}, Outcome.ERROR_EMPTY, math.inf, math.inf),
    "not found": (
        {"code": 404, "media": "text/plain", "ttft": 989, "e2e": 996},
        Outcome.CLIENT_4XX,
        None,
        None,
    ),
    "throttled": ({"code": 429, "media": "text/plain"}, Outcome.THROTTLED, None, None),
    "the client leaves before the headers": (
        {"code": 0, "flags": "DC", "details": LEFT, "age": 502, **NO_BODY},
        Outcome.CLIENT_GONE_EARLY,
        None,
        None,
    ),
    "the client leaves before the first token": (
        {"flags": "DC", "details": LEFT, "age": 100, **NONE, "bytes": 0},
        Outcome.CLIENT_GONE_EARLY,
        None,
        None,
    ),
    "the client leaves in the middle": (
        {"flags": "DC", "details": LEFT, "e2e": None},
        Outcome.CLIENT_GONE_LATE,
        0.202594,
        None,
    ),
    "the client resets its HTTP/2 stream": (
        {"flags": "DR", "details": "http2.remote_reset", "e2e": None},
        Outcome.CLIENT_GONE_LATE,
        0.202594,
        None,
    ),
    "two flags at once": (
        {"code": 503, "flags": "UF,URX", "details": REFUSED, **NONE},
        Outcome.ERROR_REFUSED,
        math.inf,
        math.inf,
    ),
}


LEFT_AFTER = {
    "the client leaves before the headers": 0.502,
    "the client leaves before the first token": 0.1,
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_counted_of(name: str) -> None:
    changes, outcome, ttft, e2e = CASES[name]
    assert result_of(line(**changes)) == Result(outcome, ttft, e2e, LEFT_AFTER.get(name))


@pytest.mark.parametrize(
    "changes",
    [{"method": "GET"}, {"method": "OPTIONS"}, {"revision": None}, {"attempt": "-"}],
)
def test_what_asks_no_revision_to_generate_is_no_evidence(changes: dict[str, object]) -> None:
    assert not is_evidence(line(**changes))


def test_a_post_to_a_revision_is_evidence() -> None:
    assert is_evidence(line())
