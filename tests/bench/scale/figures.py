"""From two scrapes and two looks at the process to figures, and from those to rows with a target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from bench.scale.controller import Usage

_PASSES = "chaffinch_pass_seconds_bucket"
_CALLS = "chaffinch_kubernetes_requests_total"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report.

    Attributes:
        metric: What was measured, with its unit.
        value: What came out.
        target: The largest value that is good; None if none was set.
    """

    metric: str
    value: float
    target: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the target is met; a figure without one is good."""
        return self.target is None or self.value <= self.target

    def to_dict(self) -> dict[str, object]:
        """Return the row as it stands in the report's file."""
        value = round(self.value, 3) if math.isfinite(self.value) else None
        return {"metric": self.metric, "value": value, "target": self.target, "ok": self.ok}


@dataclass(frozen=True, slots=True)
class Scrape:
    """What a controller had counted, or was counted of it, until one moment.

    Attributes:
        passes: Passes of rollouts that took at most so many seconds, by that number; cumulative.
            Empty of a controller of somebody else's.
        calls: Requests to the API server, by verb and kind (or resource).
    """

    passes: Mapping[float, float]
    calls: Mapping[tuple[str, str], float]

    @classmethod
    def of(cls, text: str) -> Scrape:
        """Read the answer to a scrape."""
        passes: dict[float, float] = {}
        calls: dict[tuple[str, str], float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == _PASSES and sample.labels["kind"] == "rollout":
                    passes[float(sample.labels["le"])] = sample.value
                elif sample.name == _CALLS:
                    key = (sample.labels["verb"], sample.labels["kind"])
                    calls[key] = calls.get(key, 0.0) + sample.value
        return cls(passes, calls)

    def since(self, earlier: Scrape) -> Scrape:
        """Return what was counted since another scrape of the same process."""
        return Scrape(
            {edge: count - earlier.passes.get(edge, 0.0) for edge, count in self.passes.items()},
            {key: count - earlier.calls.get(key, 0.0) for key, count in self.calls.items()},
        )

    def quantile(self, share: float) -> float:
        """Return the seconds within which a share of the passes ended.

        Between two bucket edges it is interpolated; NaN without a pass, infinite above the last edge.
        """
        edges = sorted(self.passes)
        total = self.passes[edges[-1]] if edges else 0.0
        if not total:
            return math.nan
        below, lower = 0.0, 0.0
        for edge in edges:
            counted = self.passes[edge]
            if counted >= share * total:
                return lower + (edge - lower) * (share * total - below) / (counted - below)
            below, lower = counted, edge
        return math.inf

    def total_passes(self) -> float:
        """Return how many passes there were."""
        return max(self.passes.values(), default=0.0)

    def total_calls(self) -> float:
        """Return how many requests there were."""
        return sum(self.calls.values())


@dataclass(frozen=True, slots=True)
class Span:
    """What happened between two moments.

    Attributes:
        seconds: How long it was.
        cores: CPU seconds per second.
        counted: What was counted in it.
    """

    seconds: float
    cores: float
    counted: Scrape

    @classmethod
    def between(cls, start: tuple[Usage, Scrape], end: tuple[Usage, Scrape]) -> Span:
        """Return what happened between two looks at a controller."""
        (used, scraped), (used_later, scraped_later) = start, end
        seconds = used_later.at - used.at
        return cls(
            seconds, (used_later.cpu_seconds - used.cpu_seconds) / seconds, scraped_later.since(scraped)
        )

    def per_minute(self, count: float) -> float:
        """Return a count of this span as a rate per minute."""
        return count * 60 / self.seconds


def table(rows: Iterable[Row]) -> str:
    """Return the rows for a person to read."""
    rows = list(rows)
    width = max(len(row.metric) for row in rows)
    lines = [f"{'metric':<{width}} {'value':>10} {'target':>8}"]
    for row in rows:
        target = "-" if row.target is None else f"{row.target:g}"
        missed = "" if row.ok else "MISSED"
        lines.append(f"{row.metric:<{width}} {row.value:>10.3f} {target:>8} {missed}".rstrip())
    return "\n".join(lines)
