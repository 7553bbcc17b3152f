"""Reads evidence about live traffic from Prometheus, as raw samples.

Two spans of time per question: the last minutes, and those after the step's start. If nothing was
scraped in the latter, because Prometheus was away, the minutes after them are asked for, and so on: the
evidence then begins later. Each is asked for twice by range selectors: for the block index alone, and
then for all counters of the few scrapes that are needed. The index tells, too, which routers have counted a
further block; what was scraped once does not change, so of the others, and of a start that has been read,
nothing is read again. Functions such as ``increase()`` are not used: they extrapolate, fill gaps and hide
resets, and a verdict needs the counts that were counted.

Everything that can go wrong is :class:`~chaffinch.domain.evidence.NoEvidence` with a fixed text; no byte of
a reply leaves this module otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta

from chaffinch.adapters.evidence_memory import Reading, Readings, Start
from chaffinch.adapters.prometheus_queries import Limits, PrometheusQueries
from chaffinch.domain.block_vector import BLOCK_ID, CHECKSUM, E2E, FIRST_BLOCK_ID, LEFT, REQUESTS, TTFT
from chaffinch.domain.evidence import Evidence, NoEvidence, Problem
from chaffinch.domain.live_evidence import (
    NOT_YET_COUNTED,
    Arms,
    Scrapes,
    evidence_of,
    first_block_of,
    newest_of,
    scrapes_of,
    starts_of,
)
from chaffinch.domain.prometheus_reply import CountSeries, UnusableReplyError, Window, read_matrix
from chaffinch.domain.scrape_index import first_scrapes, is_counted, newest_blocks, newest_scrapes
from chaffinch.domain.vector_series import EDGES
from chaffinch.ports.evidence import EvidenceQuestion

START_WINDOW = timedelta(seconds=150)
"""How long after a step's start its first block may be scraped: 70 s to mature, and a slow scrape."""
END_WINDOW = timedelta(seconds=90)
"""How far back the newest scrape may be."""

_INDEX = (BLOCK_ID,)
_METRICS = (
    REQUESTS,
    f"{TTFT}_bucket",
    f"{TTFT}_count",
    f"{E2E}_bucket",
    f"{E2E}_count",
    f"{LEFT}_bucket",
    f"{LEFT}_count",
    BLOCK_ID,
    FIRST_BLOCK_ID,
    CHECKSUM,
    EDGES,
)

_SETTLED = timedelta(seconds=30)
_LONGEST_SECONDS = 60.0
"""How long all questions of one reading may take, and the wait for its turn."""
_MOST_AT_ONCE = 4
"""So many replies are held at the same time: each is hundreds of kilobytes, and more while it is read."""


class PrometheusEvidence:
    """The evidence source of production (see :class:`chaffinch.ports.evidence.EvidenceSource`)."""

    def __init__(self, url: str, *, limits: Limits | None = None) -> None:
        """Prepare to ask the Prometheus at ``url`` (scheme, host, port and an optional path)."""
        self._limits = limits or Limits()
        self._queries = PrometheusQueries(url, self._limits)
        self._readings = Readings()
        self._turns = asyncio.Semaphore(_MOST_AT_ONCE)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._queries.aclose()

    async def live(self, question: EvidenceQuestion) -> Evidence | NoEvidence:
        """Return both arms since the step's start, or why they cannot be had."""
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                evidence = await self._read(_Asking(self._queries, self._turns, question))
        except UnusableReplyError as unusable:
            return unusable.no_evidence
        except TimeoutError:
            return NoEvidence(Problem.UNAVAILABLE, "Prometheus did not answer in time")
        if question.now - evidence.until > self._limits.staleness:
            return NoEvidence(Problem.STALE_DATA, "the routers' newest block is too old")
        return evidence

    async def _read(self, asking: _Asking) -> Evidence:
        question, window = asking.question, _until(asking.question.now, END_WINDOW)
        index = await asking.index(window)
        blocks = newest_blocks(index)
        known = self._readings.of(question)
        if known.evidence is not None and known.blocks == blocks:
            self._readings.keep(question, known)
            return known.evidence
        if blocks and not is_counted(blocks, asking.arms.revisions, first_block_of(question.since)):
            raise UnusableReplyError(Problem.NO_DATA, NOT_YET_COUNTED)
        known = await self._with_start(asking, known, blocks.keys())
        known = await self._with_ends(asking, known, index, window)
        evidence = evidence_of(asking.arms, question.since, known.start.found or {}, known.ends)
        self._readings.keep(question, replace(known, evidence=evidence))
        return evidence

    async def _with_ends(
        self, asking: _Asking, known: Reading, index: Sequence[CountSeries], window: Window
    ) -> Reading:
        """Read what was scraped last of the routers that have counted a further block."""
        blocks = newest_blocks(index)
        ends = {agent: newest_of(known.ends.get(agent, {}), window) for agent in blocks}
        news = {agent for agent in blocks if not ends[agent] or blocks[agent] != known.blocks.get(agent)}
        found = await asking.scrapes(newest_scrapes(index, news), window)
        for agent in blocks.keys() & found.keys():
            ends[agent] = newest_of({**ends[agent], **found[agent]}, window)
        return self._readings.keep(asking.question, replace(known, blocks=blocks, ends=ends, evidence=None))

    async def _with_start(self, asking: _Asking, known: Reading, agents: Set[str]) -> Reading:
        question = asking.question
        while (start := known.start).of(agents) is None:
            end = start.after + START_WINDOW
            start = await _first(asking, _until(min(end, question.now), START_WINDOW), start, agents)
            past = question.now > end + _SETTLED
            if past:
                # The past does not change any more, and reading it again each time is most of the cost.
                start = replace(start, over=True) if start.found else Start(end)
            known = self._readings.keep(question, replace(known, start=start))
            if not past:
                return known
        return known


class _Asking:
    """The questions of one reading; a scrape that is a step's first and its newest is read once."""

    def __init__(
        self, queries: PrometheusQueries, turns: asyncio.Semaphore, question: EvidenceQuestion
    ) -> None:
        self.question = question
        self.arms = Arms(question.candidate, question.stable)
        self._queries = queries
        self._turns = turns
        self._read: dict[Window, Mapping[str, Scrapes]] = {}

    async def index(self, window: Window) -> tuple[CountSeries, ...]:
        """Read the block index alone."""
        return read_matrix(await self._queries.ask(self.question, _INDEX, window), window)

    async def scrapes(self, few: Window | None, every: Window) -> Mapping[str, Scrapes]:
        """Read the few scrapes that are needed; all of them if an agent has no whole one among those."""
        if few is None:
            return {}
        scrapes = await self._decoded(few)
        return scrapes if all(scrapes.values()) else await self._decoded(every)

    async def _decoded(self, window: Window) -> Mapping[str, Scrapes]:
        if window not in self._read:
            async with self._turns:
                body = await self._queries.ask(self.question, _METRICS, window)
                # A large reply takes a while to read, and other rollouts must not wait for it.
                self._read[window] = await asyncio.to_thread(_read_whole, body, window, self.arms.revisions)
        return self._read[window]


async def _first(asking: _Asking, window: Window, known: Start, agents: Set[str]) -> Start:
    """Return the step's start as far as a window shows it."""
    question = asking.question
    index = await asking.index(window)
    span = first_scrapes(index, asking.arms.revisions, first_block_of(question.since) - 1)
    found = known.found
    if found is None or span != known.span or not agents <= found.keys():
        found = starts_of(question.since, await asking.scrapes(span, window))
    settled = span is not None and span.end + _SETTLED.total_seconds() < question.now.timestamp()
    return replace(known, found=found, span=span, settled=settled)


def _read_whole(body: bytes, window: Window, revisions: frozenset[str]) -> Mapping[str, Scrapes]:
    return scrapes_of(read_matrix(body, window), revisions)


def _until(end: datetime, reach: timedelta) -> Window:
    return Window((end - reach).timestamp(), end.timestamp())
