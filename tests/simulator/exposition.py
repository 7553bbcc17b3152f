"""Counters, gauges and histograms in Prometheus' text format, as small as the simulator needs them.

Written here rather than taken from a client library because the names contain colons by design, several
engines share one page, and one observation per generated token has to cost well under a microsecond.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Child(Protocol):
    """One labelled metric of a family."""

    def samples(self) -> Iterator[tuple[str, dict[str, str], float]]:
        """(suffix of the name, labels of its own, value) of each sample."""
        ...


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, amount: int = 1) -> None:
        """Count ``amount`` more."""
        self.value += amount

    def samples(self) -> Iterator[tuple[str, dict[str, str], float]]:
        """See ``Child``."""
        yield "_total", {}, self.value


class Gauge:
    """A value that is read when the page is rendered."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read

    def samples(self) -> Iterator[tuple[str, dict[str, str], float]]:
        """See ``Child``."""
        yield "", {}, self._read()


class Histogram:
    """A classic histogram: counts of observations at or under each edge, and their sum."""

    __slots__ = ("_counts", "edges", "sum")

    def __init__(self, edges: Sequence[float]) -> None:
        self.edges = tuple(edges)
        self.sum = 0.0
        self._counts = [0] * (len(self.edges) + 1)

    @property
    def count(self) -> int:
        """Number of observations."""
        return sum(self._counts)

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self.edges, value)] += 1
        self.sum += value

    def samples(self) -> Iterator[tuple[str, dict[str, str], float]]:
        """See ``Child``."""
        total = 0
        for edge, count in zip((*self.edges, math.inf), self._counts, strict=True):
            total += count
            yield "_bucket", {"le": _float(edge)}, total
        yield "_count", {}, total
        yield "_sum", {}, self.sum


class Registry:
    """The families of one page, in the order in which they were first named."""

    def __init__(self) -> None:
        self._families: dict[str, tuple[str, str, list[tuple[dict[str, str], Child]]]] = {}

    def counter(self, name: str, help_text: str, **labels: str) -> Counter:
        """A counter; ``name`` comes without its ``_total``."""
        counter = Counter()
        self._add(name + "_total", "counter", help_text, labels, counter)
        return counter

    def gauge(self, name: str, help_text: str, read: Callable[[], float], **labels: str) -> None:
        """A gauge that calls ``read`` for its value."""
        self._add(name, "gauge", help_text, labels, Gauge(read))

    def histogram(self, name: str, help_text: str, edges: Sequence[float], **labels: str) -> Histogram:
        """A histogram with these upper edges; +Inf is added."""
        histogram = Histogram(edges)
        self._add(name, "histogram", help_text, labels, histogram)
        return histogram

    def render(self) -> str:
        """The whole page."""
        lines: list[str] = []
        for name, (kind, help_text, children) in self._families.items():
            lines += (f"# HELP {name} {help_text}", f"# TYPE {name} {kind}")
            stem = name.removesuffix("_total") if kind == "counter" else name
            for labels, child in children:
                for suffix, own, value in child.samples():
                    lines.append(f"{stem}{suffix}{_labels(labels | own)} {_float(value)}")
        return "\n".join(lines) + "\n"

    def _add(self, name: str, kind: str, help_text: str, labels: dict[str, str], child: Child) -> None:
        family = self._families.setdefault(name, (kind, help_text, []))
        family[2].append((labels, child))


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    pairs = (f'{name}="{_escape(value)}"' for name, value in sorted(labels.items()))
    return "{" + ",".join(pairs) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _float(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))
