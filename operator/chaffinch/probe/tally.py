"""Adds the requests of one stage up: counts, sketches, tokens. A failure is never dropped."""

from __future__ import annotations

from collections import Counter

from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.domain import grid
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.probe.outcome import Outcome
from chaffinch.probe.reading import Reading


class Tally:
    """The running sums of a stage."""

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.failures_in_a_row = 0
        self.prompt_tokens = 0
        self.output_tokens = 0
        self.unknown_tokens = 0
        self._cached_tokens = 0
        self._cached_known = True
        self._counts = {metric: [0] * grid.BUCKET_COUNT for metric in LatencyMetric}
        self._gaps = [0] * grid.BUCKET_COUNT

    @property
    def requests(self) -> int:
        """Requests that ended."""
        return self.outcomes.total()

    @property
    def errors(self) -> int:
        """Those of them that failed."""
        return self.requests - self.outcomes[Outcome.OK]

    @property
    def errors_by_kind(self) -> dict[str, int]:
        """The failed ones by outcome, in order of the name."""
        return {str(kind): count for kind, count in sorted(self.outcomes.items()) if kind.failed}

    @property
    def cached_tokens(self) -> int | None:
        """Prompt tokens from the prefix cache; None if any answer did not say."""
        return self._cached_tokens if self._cached_known and self.outcomes[Outcome.OK] else None

    def add(self, reading: Reading) -> None:
        """Count one request."""
        self.outcomes[reading.outcome] += 1
        self.failures_in_a_row = self.failures_in_a_row + 1 if reading.outcome.failed else 0
        self._add_latency(LatencyMetric.TTFT, reading.ttft)
        self._add_latency(LatencyMetric.E2E, reading.e2e)
        if reading.tpot is not None:
            self._add_latency(LatencyMetric.TPOT, reading.tpot)
        for gap in reading.gaps:
            self._gaps[grid.bucket_of(gap)] += 1
        if not reading.outcome.failed:
            self._add_tokens(reading)

    def sketches(self) -> Sketches:
        """Return the latencies; without TPOT when the tokens of any successful request are unknown.

        A sketch of only those whose tokens happen to be known would be a sample that the server chose.
        """
        tpot = grid.encode(self._counts[LatencyMetric.TPOT]) if not self.unknown_tokens else None
        return Sketches(
            ttft=grid.encode(self._counts[LatencyMetric.TTFT]),
            e2e=grid.encode(self._counts[LatencyMetric.E2E]),
            tpot=tpot or None,
        )

    def gaps(self) -> str:
        """Return the sketch of the gaps between token events."""
        return grid.encode(self._gaps)

    def median_ttft_seconds(self) -> float:
        """Return the median TTFT, rounded up to the grid; infinite if unbounded, 0 of no request."""
        return grid.Histogram(tuple(self._counts[LatencyMetric.TTFT])).quantile_seconds(0.5) or 0.0

    def _add_latency(self, metric: LatencyMetric, seconds: float) -> None:
        self._counts[metric][grid.bucket_of(seconds)] += 1

    def _add_tokens(self, reading: Reading) -> None:
        if reading.usage is None:
            self.unknown_tokens += 1
            self._cached_known = False
            return
        self.prompt_tokens += reading.usage.prompt
        self.output_tokens += reading.usage.output
        if reading.usage.cached is None:
            self._cached_known = False
        else:
            self._cached_tokens += reading.usage.cached
