"""What a client saw of one request, before anybody interprets it.

Keeping the raw reads with their times lets the measuring path do nothing but read: framing and JSON are
read later (:mod:`chaffinch.probe.reading`), when no other stream's clock waits for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class End(Enum):
    """How a request ended on the wire."""

    COMPLETE = "the body ended as HTTP says it should"
    REFUSED = "no connection could be made"
    RESET = "the connection was lost before a response began"
    CUT = "the connection was lost within the response"
    TIMEOUT = "the time for one request was over"


@dataclass(frozen=True, slots=True)
class Read:
    """Bytes of a response body, as one read from the socket gave them.

    Attributes:
        at: When the read returned, in seconds of the monotonic clock.
        data: The bytes.
    """

    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came back.

    Attributes:
        sent: When the request was made, in seconds of the monotonic clock: the connection counts.
        ended: When the last byte came, or when the request was given up.
        end: How it ended.
        status: The HTTP status; None if no response began.
        media_type: The response's media type without parameters, in lower case; empty if none.
        reads: The body.
        tokens_asked: How many output tokens the server was made to generate.
    """

    sent: float
    ended: float
    end: End
    status: int | None
    media_type: str
    reads: tuple[Read, ...]
    tokens_asked: int
