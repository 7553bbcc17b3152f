"""Reads the raw reply of a Prometheus range selector, and refuses every other kind of reply.

A reply is whole, or it is no evidence: one value that is not a count spoils all of it, for a series
that was made whole by leaving something out would say what nobody measured. Every refusal has a
fixed text of our own; not a byte of the reply is repeated in it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.domain.numbers import count

MOST_SERIES = 50_000
_SLACK_SECONDS = 1.0


class UnusableReplyError(Exception):
    """A reply that is no evidence, and why.

    Attributes:
        problem: The reason for the ``Evidence`` condition.
    """

    def __init__(self, problem: Problem, text: str) -> None:
        super().__init__(text)
        self.problem = problem

    @property
    def no_evidence(self) -> NoEvidence:
        """The same as a value."""
        return NoEvidence(self.problem, str(self))


@dataclass(frozen=True, slots=True)
class Window:
    """The span of time that was asked for, in Unix seconds."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class CountSeries:
    """One series as it was scraped.

    Attributes:
        labels: All of its labels, ``__name__`` included.
        samples: Counts by time of scrape in Unix milliseconds, rising.
    """

    labels: Mapping[str, str]
    samples: tuple[tuple[int, int], ...]


def read_matrix(body: bytes, window: Window) -> tuple[CountSeries, ...]:
    """Return the series of a reply to a range selector.

    Args:
        body: The reply's body.
        window: What was asked for; samples from outside of it are not believed.

    Raises:
        UnusableReplyError: If the reply is an error or has warnings, is no matrix of counts, holds a
            series twice, two samples of one time, or samples from outside the window.
    """
    result = _result(_object(body))
    series = tuple(_series(entry, window) for entry in result)
    if len({frozenset(one.labels.items()) for one in series}) != len(series):
        raise _broken("the reply holds one series twice")
    return series


def _object(body: bytes) -> Mapping[str, object]:
    try:
        reply = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise _broken("the reply is not JSON") from None
    if not isinstance(reply, dict):
        raise _broken("the reply is not a JSON object")
    return reply


def _refuse_constant(_: str) -> float:
    raise ValueError("NaN and infinities are not JSON")


def _result(reply: Mapping[str, object]) -> list[object]:
    if reply.get("status") != "success":
        raise _broken("the query failed: the reply's status is not success")
    if reply.get("warnings"):
        raise _broken("the reply carries warnings, so it may not be complete")
    data = reply.get("data")
    if not isinstance(data, dict) or data.get("resultType") != "matrix":
        raise _broken("the reply is not a matrix")
    result = data.get("result")
    if not isinstance(result, list):
        raise _broken("the reply has no list of series")
    if len(result) > MOST_SERIES:
        raise _broken("the reply holds too many series")
    return result


def _series(entry: object, window: Window) -> CountSeries:
    if not isinstance(entry, dict) or set(entry) != {"metric", "values"}:
        raise _broken("a series of the reply is not labels and values")
    labels, values = entry["metric"], entry["values"]
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise _broken("a series of the reply has labels that are no texts")
    if not isinstance(values, list) or not values:
        raise _broken("a series of the reply has no samples")
    samples = tuple(_sample(value, window) for value in values)
    if any(a[0] >= b[0] for a, b in pairwise(samples)):
        raise _broken("a series of the reply has two samples of one time, or not in order")
    return CountSeries(labels, samples)


def _sample(value: object, window: Window) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise _broken("a sample of the reply is not a time and a value")
    seconds = value[0]
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
        raise _broken("a sample of the reply has no time")
    if seconds < window.start - _SLACK_SECONDS:
        raise UnusableReplyError(Problem.STALE_DATA, "a sample of the reply is older than what was asked for")
    if seconds > window.end + _SLACK_SECONDS:
        raise _broken("a sample of the reply is newer than what was asked for")
    try:
        return round(seconds * 1000), count(value[1])
    except ValueError:
        raise _broken(
            "a sample of the reply is not a count (NaN, infinite, negative or fractional)"
        ) from None


def _broken(text: str) -> UnusableReplyError:
    return UnusableReplyError(Problem.UNAVAILABLE, text)
