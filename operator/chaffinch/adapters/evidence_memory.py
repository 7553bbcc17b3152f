"""What a reader of evidence remembers of the steps that it has read, so that it need not read them again.

It saves requests and never decides: without it, or after a restart, everything is read anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from chaffinch.domain.evidence import Evidence
from chaffinch.domain.live_evidence import Arms, Scrapes, Snapshot
from chaffinch.domain.prometheus_reply import Window
from chaffinch.domain.scrape_index import Blocks
from chaffinch.ports.evidence import EvidenceQuestion

_MOST_STEPS = 256
_KEPT = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Step:
    """Which step is read; two with the same values have the same evidence."""

    attempt: int
    arms: Arms
    since: datetime


@dataclass(frozen=True, slots=True)
class Start:
    """What is known of a step's start.

    Attributes:
        after: Nothing whole was scraped in the step before.
        found: The first that was scraped since then, by agent; None if that isn't known yet.
        span: When that was scraped.
        settled: That is so long ago that no other scrape can still turn up before it.
        over: The minutes in which more agents' starts could be found are past.
    """

    after: datetime
    found: Mapping[str, Snapshot] | None = None
    span: Window | None = None
    settled: bool = False
    over: bool = False

    def of(self, agents: Set[str]) -> Mapping[str, Snapshot] | None:
        """Return what was found if it is all that there can be of these agents."""
        complete = self.found is not None and self.settled and agents <= self.found.keys()
        return self.found if self.over or complete else None


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of a step.

    Attributes:
        start: Of its start.
        blocks: What the routers had counted when it was read last.
        ends: What was scraped last, by agent.
        evidence: What it came to; None if it was not evidence.
    """

    start: Start
    blocks: Blocks = field(default_factory=dict)
    ends: Mapping[str, Scrapes] = field(default_factory=dict)
    evidence: Evidence | None = None


class Readings:
    """The newest step of each rollout that is being read."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Step, datetime, Reading]] = {}

    def of(self, question: EvidenceQuestion) -> Reading:
        """Return what is known of the step that is asked about."""
        step, _, reading = self._kept.get(question.rollout_uid, (None, None, None))
        return reading if reading is not None and step == _step(question) else Reading(Start(question.since))

    def keep(self, question: EvidenceQuestion, reading: Reading) -> Reading:
        """Keep what is known, at the cost of what nobody has asked for in a while; return it."""
        self._kept.pop(question.rollout_uid, None)
        self._kept[question.rollout_uid] = (_step(question), question.now, reading)
        while len(self._kept) > _MOST_STEPS or self._oldest() < question.now - _KEPT:
            del self._kept[next(iter(self._kept))]
        return reading

    def _oldest(self) -> datetime:
        return next(iter(self._kept.values()))[1]


def _step(question: EvidenceQuestion) -> Step:
    return Step(question.attempt, Arms(question.candidate, question.stable), question.since)
