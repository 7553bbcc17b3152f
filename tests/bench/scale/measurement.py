"""The measurement itself: the same course for our operator and for a controller beside it.

All rollouts are deployed at once; when all are Healthy, some get a new version. While these have users on
both versions the controller is measured. When they have been promoted and nothing is written any more, the
idle minutes begin.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.scale.audit import AuditTail, but_leases
from bench.scale.controller import ControllerProcess, Usage
from bench.scale.figures import Row, Scrape, Span
from bench.scale.fleet import Fleet, NotInTimeError
from localcluster.progress import Progress

_LONGEST_SECONDS = 1200.0
_QUIET_SECONDS = 30.0
_SAMPLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Targets:
    """The largest figures that are good; None where none was set.

    Attributes:
        cores: CPU with some active.
        mib: Resident memory with some active.
        pass_seconds: 99th percentile of a pass.
        writes: Writes at rest.
    """

    cores: float | None = None
    mib: float | None = None
    pass_seconds: float | None = None
    writes: float | None = None


@dataclass(frozen=True, slots=True)
class Length:
    """How much is measured, and for how long.

    Attributes:
        active: How many rollouts get a new version.
        active_seconds: How long these are measured.
        idle_seconds: How long the idle time is.
    """

    active: int
    active_seconds: int
    idle_seconds: int

    @property
    def canary_seconds(self) -> int:
        """How long each new version has users beside the old one.

        The first to have them must still have them when the last one has been measured, and many do not come
        to it at once: 2 minutes lie between the first and the last of a hundred at most.
        """
        return self.active_seconds + 40 + self.active * 4 // 5


class Watched:
    """A controller, looked at every second for the most memory that it uses."""

    def __init__(self, process: ControllerProcess, counted: Callable[[], Scrape]) -> None:
        self._process = process
        self._counted = counted

    def look(self) -> tuple[Usage, Scrape]:
        """Return what it has used and what was counted so far."""
        counted = self._counted()  # before the usage: reading a long log takes seconds
        return self._process.usage(), counted

    def span(self, seconds: float) -> tuple[Span, float]:
        """Return what happens in so many seconds, and the most resident memory (MiB) in them."""
        start, most = self.look(), 0.0
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            most = max(most, self._process.usage().rss_mib)
            time.sleep(_SAMPLE_SECONDS)
        return Span.between(start, self.look()), most


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured.

    Attributes:
        title: What its rows begin with; empty for our own.
        controller: What its rows call the controller.
        watched: The controller.
        fleet: Its rollouts.
        audit: Its writes.
        targets: What is good.
        tells_passes: Whether the controller tells how long its passes take.
    """

    title: str
    controller: str
    watched: Watched
    fleet: Fleet
    audit: AuditTail
    targets: Targets
    tells_passes: bool

    def row(self, metric: str, value: float, target: float | None = None) -> Row:
        """Return a row of the report that says whose it is."""
        return Row(f"{self.title}: {metric}" if self.title else metric, value, target)


class AuditedCalls:
    """Counts the requests of a controller that does not tell them in our way, from the audit log."""

    def __init__(self, audit: AuditTail) -> None:
        self._audit = audit
        self._calls: Counter[tuple[str, str]] = Counter()

    def __call__(self) -> Scrape:
        """Return what was counted so far."""
        for what, times in self._audit.requests().items():
            verb, resource = what.split()
            self._calls[verb, resource] += times
        return Scrape({}, dict(self._calls))


class Measurement:
    """One measurement from start to end."""

    def __init__(self, subject: Subject, length: Length, progress: Progress) -> None:
        self._subject = subject
        self._length = length
        self._progress = progress

    def run(self) -> Iterator[Row]:
        """Deploy, measure with some active, measure at rest; yields each figure when it is there.

        Raises:
            NotInTimeError: If something is not reached.
            ControllerEndedError: If the controller ends.
        """
        yield from self._deploying()
        yield from self._active()
        yield from self._idle()

    def _deploying(self) -> list[Row]:
        it, size = self._subject, self._subject.fleet.size
        start = it.watched.look()
        with self._progress.step(f"Deploying {size} rollouts"):
            it.fleet.create()
            it.fleet.until_healthy()
        deploying = Span.between(start, it.watched.look())
        return [
            it.row(f"seconds to deploy {size} rollouts", deploying.seconds),
            it.row(f"CPU of {it.controller} meanwhile (cores)", deploying.cores),
        ]

    def _active(self) -> Iterator[Row]:
        it, active = self._subject, self._length.active
        with self._progress.step(f"Giving {active} of them a new version"):
            it.fleet.give_new_version(active)
            it.fleet.until_in_canary(active)
        with self._progress.step("Measuring"):
            span, most = it.watched.span(self._length.active_seconds)
        yield from self._rows_of_active(span, most)
        with self._progress.step("Promoting them"):
            it.fleet.until_healthy()

    def _rows_of_active(self, span: Span, most: float) -> Iterator[Row]:
        it, targets = self._subject, self._subject.targets
        what = f"{it.fleet.size} rollouts, {self._length.active} active"
        yield it.row(f"CPU of {it.controller}, {what} (cores)", span.cores, targets.cores)
        yield it.row(f"resident memory of {it.controller}, {what} (MiB)", most, targets.mib)
        if it.tells_passes:
            yield it.row(f"p99 of a pass, {what} (s)", span.counted.quantile(0.99), targets.pass_seconds)
            yield it.row(f"passes per minute, {what}", span.per_minute(span.counted.total_passes()))
        yield it.row(f"API calls per minute, {what}", span.per_minute(span.counted.total_calls()))

    def _idle(self) -> list[Row]:
        it, seconds = self._subject, self._length.idle_seconds
        self._until_quiet()
        with self._progress.step(f"Idling for {seconds} s"):
            span, most = it.watched.span(seconds)
        written = but_leases(it.audit.writes())
        if written:
            self._progress.say(f"written at rest: {written}")
        idle = f"{it.fleet.size} idle"
        return [
            it.row(
                f"writes but of the Lease in {seconds} s, {idle}", sum(written.values()), it.targets.writes
            ),
            it.row(f"CPU of {it.controller}, {idle} (cores)", span.cores),
            it.row(f"resident memory of {it.controller}, {idle} (MiB)", most),
            it.row(f"API calls per minute, {idle}", span.per_minute(span.counted.total_calls())),
        ]

    def _until_quiet(self) -> None:
        """Wait for a first half minute without a write; until then the last pods of old versions go."""
        deadline = time.monotonic() + _LONGEST_SECONDS
        self._subject.audit.writes()
        while time.monotonic() < deadline:
            time.sleep(_QUIET_SECONDS)
            written = but_leases(self._subject.audit.writes())
            if not written:
                return
            self._progress.say(f"  still written: {written}")
        raise NotInTimeError(f"the controller still writes after {_LONGEST_SECONDS:.0f} s: {written}")
