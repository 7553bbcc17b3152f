"""Counts what users saw: in all, second by second, and by revision.

A failed request is never dropped from a latency: it counts as endless, so that a service that fails fast
does not look quick. A quantile that falls among the failures is therefore ``None``.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from traffic.outcome import Failure, Outcome

UNKNOWN = "unknown"
"""Stands for the revision of a request whose reply did not name one."""

_GROWTH = math.log(1.01)
_KEPT_FAILURES = 1000


class Latencies:
    """A distribution in buckets that are 1 % wide, with room for what never arrived."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self._endless = 0

    def add(self, seconds: float | None) -> None:
        """Count one latency; None is endless."""
        if seconds is None:
            self._endless += 1
        else:
            self._buckets[math.ceil(math.log(max(seconds, 1e-6)) / _GROWTH)] += 1

    def quantile(self, share: float) -> float | None:
        """Upper edge in seconds of the bucket that the quantile falls in; None if endless or empty."""
        rank = math.ceil(share * (self._buckets.total() + self._endless))
        for bucket in sorted(self._buckets):
            rank -= self._buckets[bucket]
            if rank <= 0:
                return math.exp(bucket * _GROWTH)
        return None

    def to_json(self) -> dict[str, float | None]:
        """The usual quantiles, in seconds."""
        return {
            name: None if (value := self.quantile(share)) is None else round(value, 5)
            for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
        }


@dataclass(slots=True)
class Tally:
    """Counts of one revision, or of all."""

    requests: int = 0
    tokens: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    ttft: Latencies = field(default_factory=Latencies)
    e2e: Latencies = field(default_factory=Latencies)

    def add(self, outcome: Outcome) -> None:
        """Count one request."""
        self.requests += 1
        self.tokens += outcome.tokens
        if outcome.failure is not None:
            self.failures[outcome.failure.value] += 1
        self.ttft.add(outcome.ttft)
        self.e2e.add(outcome.e2e)

    def to_json(self) -> dict[str, Any]:
        """The counts as they are written."""
        return {
            "requests": self.requests,
            "failed": self.failures.total(),
            "failures": dict(sorted(self.failures.items())),
            "tokens": self.tokens,
            "ttft": self.ttft.to_json(),
            "e2e": self.e2e.to_json(),
        }


@dataclass(slots=True)
class Second:
    """What became of the requests that were due in one second."""

    requests: int = 0
    skipped: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    ttft: Latencies = field(default_factory=Latencies)

    def to_json(self, second: int) -> dict[str, Any]:
        """The counts as they are written."""
        p95 = self.ttft.quantile(0.95)
        return {
            "second": second,
            "requests": self.requests,
            "skipped": self.skipped,
            "failures": dict(sorted(self.failures.items())),
            "ttftP95": None if p95 is None else round(p95, 5),
        }


class Ledger:
    """All counts of one run."""

    def __init__(self) -> None:
        self.total = Tally()
        self.revisions: dict[str, Tally] = {}
        self.skipped = 0
        self.abandoned = 0
        self._seconds: dict[int, Second] = {}
        self._failed: list[Outcome] = []

    def add(self, outcome: Outcome) -> None:
        """Count a request that has ended."""
        self.total.add(outcome)
        self.revisions.setdefault(outcome.revision or UNKNOWN, Tally()).add(outcome)
        second = self._second(outcome.at)
        second.requests += 1
        second.ttft.add(outcome.ttft)
        if outcome.failure is not None:
            second.failures[outcome.failure.value] += 1
            if len(self._failed) < _KEPT_FAILURES:
                self._failed.append(outcome)

    def skip(self, at: float) -> None:
        """Count a request that was not sent because too many were under way."""
        self.skipped += 1
        self._second(at).skipped += 1

    def abandon(self, count: int) -> None:
        """Count requests that were under way when the run was stopped: neither good nor failed."""
        self.abandoned += count

    def to_json(self, canaries: Collection[str] = ()) -> dict[str, Any]:
        """All counts; see ``failed_on_stable`` for what ``canaries`` does."""
        summary = self.total.to_json() | {
            "skipped": self.skipped,
            "abandoned": self.abandoned,
            "revisions": {name: tally.to_json() for name, tally in sorted(self.revisions.items())},
            "perSecond": [second.to_json(at) for at, second in sorted(self._seconds.items())],
            "failedRequests": [_failed_request(outcome) for outcome in self._failed],
        }
        return summary | {"failedOnStable": failed_on_stable(summary, canaries)}

    def _second(self, at: float) -> Second:
        return self._seconds.setdefault(int(at), Second())


def failed_on_stable(summary: Mapping[str, Any], canaries: Collection[str]) -> int:
    """Failed requests of a written summary that cannot be laid at a canary's door.

    Args:
        summary: What ``Ledger.to_json`` returned, or the file that the program wrote.
        canaries: Revisions whose failures are their own. What no revision is named for counts here, too.
    """
    return sum(tally["failed"] for name, tally in summary["revisions"].items() if name not in canaries)


def _failed_request(outcome: Outcome) -> dict[str, Any]:
    failure = outcome.failure or Failure.OTHER
    return {"at": round(outcome.at, 3), "failure": failure.value, "revision": outcome.revision}
