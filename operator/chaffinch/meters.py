"""Metrics that can be listed: whoever makes one says what it means, and the reference page is made of that.

``prometheus_client`` does not tell the labels of a metric that has no series yet, so they are kept here.
"""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)
"""The buckets of everything that is timed."""


@dataclass(frozen=True, slots=True)
class Description:
    """One metric as the reference lists it.

    Attributes:
        name: Its name in queries; a histogram's series have ``_bucket``, ``_sum`` and ``_count`` behind it.
        kind: ``counter``, ``gauge`` or ``histogram``.
        labels: The labels of its series.
        meaning: One sentence.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


class Meters:
    """Makes the metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._made: list[Description] = []

    @property
    def descriptions(self) -> tuple[Description, ...]:
        """Everything that was made, in that order."""
        return tuple(self._made)

    def counter(self, name: str, meaning: str, *labels: str) -> Counter:
        """Make a counter; its name ends in ``_total``."""
        self._made.append(Description(name, "counter", labels, meaning))
        return Counter(name, meaning, labels, registry=self.registry)

    def gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        """Make a gauge."""
        self._made.append(Description(name, "gauge", labels, meaning))
        return Gauge(name, meaning, labels, registry=self.registry)

    def seconds(self, name: str, meaning: str, *labels: str) -> Histogram:
        """Make a histogram of seconds."""
        self._made.append(Description(name, "histogram", labels, meaning))
        return Histogram(name, meaning, labels, buckets=SECONDS, registry=self.registry)
