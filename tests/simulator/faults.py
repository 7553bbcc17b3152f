"""Faults that a version carries: set by arguments when it starts, or by ``POST /sim/faults`` later.

Two kinds. A slow version: from some moment on, requests above some prompt length take longer by a factor.
A broken version: a share of its requests fails in one particular way. The draw that picks the failing
requests comes from the request itself (see ``chance``), so a run can be repeated.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class FaultError(ValueError):
    """A fault was described wrongly; the message names the field and what it accepts."""


class ErrorKind(StrEnum):
    """The ways in which a request can fail."""

    HTTP_500 = "http500"
    """An error reply of status 500, at once."""
    REFUSED = "refused"
    """The connection is reset before a single byte of reply."""
    CUT = "cut"
    """The connection is reset midway through the answer."""
    IN_BAND = "inband"
    """A reply of status 200 that carries an error event, or is an error object."""
    NOT_FOUND = "404"
    """An error reply of status 404, as for an unknown model."""
    TOO_MANY = "429"
    """An error reply of status 429."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults in force.

    Attributes:
        latency_factor: Multiplies every latency of the requests it hits; at least 0.01.
        latency_min_prompt_tokens: Only prompts of at least this many tokens are hit.
        latency_after: Monotonic moment (or, in arguments, seconds since serving began) from which the
            factor holds.
        error_shares: Share of requests that fail, by kind; together at most 1.
    """

    latency_factor: float = 1.0
    latency_min_prompt_tokens: int = 0
    latency_after: float = 0.0
    error_shares: Mapping[ErrorKind, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.01 <= self.latency_factor <= 1000:
            raise FaultError(f"latency_factor: {self.latency_factor} is outside 0.01 to 1000")
        if self.latency_min_prompt_tokens < 0:
            raise FaultError("latency_min_prompt_tokens: must be 0 or more")
        if self.latency_after < 0:
            raise FaultError("latency_after: must be 0 or more seconds")
        for kind, share in self.error_shares.items():
            if not 0 <= share <= 1:
                raise FaultError(f"error_shares: {kind.value}={share} is outside 0 to 1")
        if sum(self.error_shares.values()) > 1 + 1e-9:
            raise FaultError("error_shares: the shares add up to more than 1")

    def started_at(self, now: float) -> "Faults":
        """The same faults with ``latency_after`` turned from a delay into a moment of the clock."""
        return replace(self, latency_after=now + self.latency_after)

    def factor(self, prompt_tokens: int, now: float) -> float:
        """The latency factor for a request that arrives ``now`` with a prompt of that length."""
        hit = now >= self.latency_after and prompt_tokens >= self.latency_min_prompt_tokens
        return self.latency_factor if hit else 1.0

    def error(self, draw: float) -> ErrorKind | None:
        """The way in which the request with this draw (uniform in 0..1) fails, if it does."""
        for kind, share in self.error_shares.items():
            if draw < share:
                return kind
            draw -= share
        return None

    def to_json(self, now: float) -> dict[str, Any]:
        """The form that ``GET /sim/faults`` shows; ``latency_after`` is the time still to wait."""
        return {
            "latency_factor": self.latency_factor,
            "latency_min_prompt_tokens": self.latency_min_prompt_tokens,
            "latency_after": max(0.0, self.latency_after - now),
            "error_shares": {kind.value: share for kind, share in self.error_shares.items()},
        }


def parse_error_share(text: str) -> tuple[ErrorKind, float]:
    """Read ``kind=share`` as given to ``--sim-error-share``.

    Raises:
        FaultError: The kind is unknown or the share is no number from 0 to 1.
    """
    kind, separator, share = text.partition("=")
    if not separator:
        raise FaultError(f"error_shares: {text!r} is not of the form kind=share")
    return _kind(kind), _number("error_shares", share)


def changed(faults: Faults, body: bytes, now: float) -> Faults:
    """``faults`` with the fields of a JSON object replaced; fields that are not named keep their value.

    Raises:
        FaultError: The body is no object, or a field is unknown or has a wrong value.
    """
    try:
        fields = json.loads(body)
    except ValueError as error:
        raise FaultError(f"body: not JSON ({error})") from None
    if not isinstance(fields, dict):
        raise FaultError("body: must be a JSON object")
    values: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "latency_factor":
            values[name] = _number(name, value)
        elif name == "latency_min_prompt_tokens":
            values[name] = int(_number(name, value))
        elif name == "latency_after":
            values[name] = now + _number(name, value)
        elif name == "error_shares":
            values[name] = _shares(value)
        else:
            raise FaultError(f"{name}: unknown field; known are {', '.join(faults.to_json(now))}")
    return replace(faults, **values)


def _shares(value: object) -> dict[ErrorKind, float]:
    if not isinstance(value, dict):
        raise FaultError("error_shares: must be an object of kind and share")
    return {_kind(kind): _number("error_shares", share) for kind, share in value.items()}


def _kind(text: str) -> ErrorKind:
    try:
        return ErrorKind(text)
    except ValueError:
        known = ", ".join(kind.value for kind in ErrorKind)
        raise FaultError(f"error_shares: unknown kind {text!r}; known are {known}") from None


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise FaultError(f"{name}: {value!r} is not a number")
    try:
        number = float(value)
    except ValueError:
        raise FaultError(f"{name}: {value!r} is not a number") from None
    if not 0 <= number < float("inf"):
        raise FaultError(f"{name}: {value!r} is not a finite number of 0 or more")
    return number
