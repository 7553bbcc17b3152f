"""Reads the raw reply of a Prometheus range selector, and refuses every other kind of reply.

A reply is whole, or it is no evidence: one value that is not a count spoils all of it, for a series
that was made whole by leaving something out would say what nobody measured. Every refusal has a
fixed text of our own; not a byte of the reply is repeated in it.

A reply has thousands of series, and reading them is most of what an operator with many canaries does. So
they are checked column by column, all labels, all times, all counts, in loops of the interpreter's own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.domain.numbers import count

MOST_SERIES = 50_000
_PARTS = {"metric", "values"}
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


class CountSeries(NamedTuple):
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
    labels, values = _columns(_result(_object(body)))
    samples = _samples(values, window)
    if _different(labels) != len(labels):
        raise _broken("the reply holds one series twice")
    return tuple(map(CountSeries, labels, samples))


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


def _columns(result: list[object]) -> tuple[list[dict[str, str]], list[list[object]]]:
    """Return the labels and the values of all series."""
    entries = [entry for entry in result if isinstance(entry, dict) and entry.keys() == _PARTS]
    if len(entries) != len(result):
        raise _broken("a series of the reply is not labels and values")
    labels, values = [entry["metric"] for entry in entries], [entry["values"] for entry in entries]
    if not (_are(dict, labels) and _are(str, chain.from_iterable(map(dict.values, labels)))):
        raise _broken("a series of the reply has labels that are no texts")
    if not (_are(list, values) and all(values)):
        raise _broken("a series of the reply has no samples")
    return labels, values


def _different(labels: list[dict[str, str]]) -> int:
    """Return how many of the series are different ones."""
    names = list(map(tuple, labels))
    orders = set(names)
    if len(set(map(frozenset, orders))) != len(orders):  # some have the same names in another order
        return len(set(map(frozenset, map(dict.items, labels))))
    return len(set(zip(names, map(tuple, map(dict.values, labels)), strict=True)))


def _samples(values: list[list[object]], window: Window) -> list[tuple[tuple[int, int], ...]]:
    """Return the samples of all series: time in Unix milliseconds and count."""
    pairs = [pair for pair in chain.from_iterable(values) if isinstance(pair, list) and len(pair) == 2]
    if len(pairs) != sum(map(len, values)):
        raise _broken("a sample of the reply is not a time and a value")
    times, counts = _times([at for at, _ in pairs], window), _counts([text for _, text in pairs])
    each = zip(times, counts, strict=True)
    samples = [tuple(islice(each, len(some))) for some in values]
    if any(a[0] >= b[0] for some in samples if len(some) > 1 for a, b in pairwise(some)):
        raise _broken("a series of the reply has two samples of one time, or not in order")
    return samples


def _times(times: list[Any], window: Window) -> list[int]:
    if not _are((int, float), times):
        raise _broken("a sample of the reply has no time")
    known = {seconds: _milliseconds(seconds, window) for seconds in set(times)}
    return [known[seconds] for seconds in times]


def _milliseconds(seconds: float, window: Window) -> int:
    if not math.isfinite(seconds):
        raise _broken("a sample of the reply has no time")
    if seconds < window.start - _SLACK_SECONDS:
        raise UnusableReplyError(Problem.STALE_DATA, "a sample of the reply is older than what was asked for")
    if seconds > window.end + _SLACK_SECONDS:
        raise _broken("a sample of the reply is newer than what was asked for")
    return round(seconds * 1000)


def _counts(texts: list[object]) -> list[int]:
    try:
        # Of thousands of texts a few dozen are different, and equal counts are one object then.
        known = {text: count(text) for text in set(texts)}
    except (ValueError, TypeError):  # of what is no text, some cannot be in a set
        raise _broken(
            "a sample of the reply is not a count (NaN, infinite, negative or fractional)"
        ) from None
    return [known[text] for text in texts]


def _are(types: type | tuple[type, ...], values: Iterable[object]) -> bool:
    """Tell whether all values are of exactly these types; a bool is no int."""
    return set(map(type, values)) <= set(types if isinstance(types, tuple) else (types,))


def _broken(text: str) -> UnusableReplyError:
    return UnusableReplyError(Problem.UNAVAILABLE, text)
