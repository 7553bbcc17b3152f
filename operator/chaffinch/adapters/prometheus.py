"""Reads evidence about live traffic from Prometheus, as raw samples.

Two spans of time per question: the last minutes, and those after the step's start. If nothing was
scraped in the latter, because Prometheus was away, the minutes after them are asked for, and so on: the
evidence then begins later. Each is asked for twice by range selectors: for the block index alone, and
then for all counters within the span of the few scrapes that are needed; the index tells, too, when no
router has counted a further block and the evidence is what it was. Functions such as ``increase()``
are not used: they extrapolate, fill gaps and hide resets, and a verdict needs the counts that were
counted. The reply is read here and not by a client library, which would drop the warnings that say that
a reply is incomplete.

Everything that can go wrong is :class:`~chaffinch.domain.evidence.NoEvidence` with a fixed text; no byte of
a reply leaves this module otherwise.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import httpx

from chaffinch.domain.block_vector import BLOCK_ID, CHECKSUM, E2E, FIRST_BLOCK_ID, LEFT, REQUESTS, TTFT
from chaffinch.domain.evidence import Evidence, NoEvidence, Problem
from chaffinch.domain.live_evidence import (
    Arms,
    Scrapes,
    Snapshot,
    evidence_of,
    first_block_of,
    scrapes_of,
    starts_of,
)
from chaffinch.domain.prometheus_reply import CountSeries, UnusableReplyError, Window, read_matrix
from chaffinch.domain.scrape_index import Blocks, first_scrapes, newest_blocks, newest_scrapes
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
)

_SETTLED = timedelta(seconds=30)
_MOST_KNOWN = 256
"""Of so many steps what was read is kept, so that it need not be read again."""

_Step = tuple[str, int, Arms, datetime]
_Known = TypeVar("_Known")


@dataclass(frozen=True, slots=True)
class _Start:
    """What is known for good about a step's start.

    Attributes:
        after: Nothing whole was scraped in the step before.
        found: The first that was scraped since then, by agent; None if that isn't known yet.
        over: The minutes in which more agents' starts could be found are past.
    """

    after: datetime
    found: Mapping[str, Snapshot] | None = None
    over: bool = False

    def of(self, agents: Set[str]) -> Mapping[str, Snapshot] | None:
        """Return what was found if it is all that there can be of these agents."""
        return self.found if self.found is not None and (self.over or agents <= self.found.keys()) else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a step's evidence was when the routers had counted up to these blocks."""

    blocks: Blocks
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reply may cost before it is refused.

    Attributes:
        seconds: The longest wait for one whole reply.
        bytes: The largest body.
        staleness: How long ago the newest block may have ended.
    """

    seconds: float = 10
    bytes: int = 32 * 1024 * 1024
    staleness: timedelta = timedelta(minutes=3)


class PrometheusEvidence:
    """The evidence source of production (see :class:`chaffinch.ports.evidence.EvidenceSource`)."""

    def __init__(self, url: str, *, limits: Limits | None = None) -> None:
        """Prepare to ask the Prometheus at ``url`` (scheme, host, port and an optional path)."""
        self._url = f"{url.rstrip('/')}/api/v1/query"
        self._limits = limits or Limits()
        self._known_starts: dict[_Step, _Start] = {}
        self._readings: dict[_Step, _Reading] = {}
        # No redirects and no proxies from the environment: only the configured address is asked. No
        # compression: a reply's size is then what arrives, and nothing can unfold in memory.
        self._client = httpx.AsyncClient(
            follow_redirects=False,
            trust_env=False,
            timeout=self._limits.seconds,
            headers={"accept": "application/json", "accept-encoding": "identity"},
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def live(self, question: EvidenceQuestion) -> Evidence | NoEvidence:
        """Return both arms since the step's start, or why they cannot be had."""
        try:
            evidence = await self._read(question)
        except UnusableReplyError as unusable:
            return unusable.no_evidence
        if question.now - evidence.until > self._limits.staleness:
            return NoEvidence(Problem.STALE_DATA, "the routers' newest block is too old")
        return evidence

    async def _read(self, question: EvidenceQuestion) -> Evidence:
        arms = Arms(question.candidate, question.stable)
        step = (question.rollout_uid, question.attempt, arms, question.since)
        window = _until(question.now, END_WINDOW)
        index = await self._series(question, _INDEX, window)
        blocks = newest_blocks(index)
        known = self._readings.get(step)
        if known is not None and known.blocks == blocks:
            return known.evidence
        starts = await self._starts(question, step, blocks.keys())
        ends = await self._scrapes(question, arms, newest_scrapes(index), window)
        evidence = await asyncio.to_thread(evidence_of, arms, question.since, starts, ends)
        _remember(self._readings, step, _Reading(blocks, evidence))
        return evidence

    async def _starts(
        self, question: EvidenceQuestion, step: _Step, agents: Set[str]
    ) -> Mapping[str, Snapshot]:
        known = self._known_starts.get(step, _Start(question.since))
        while (found := known.of(agents)) is None:
            end = known.after + START_WINDOW
            starts, settled = await self._first(question, _until(min(end, question.now), START_WINDOW))
            if question.now <= end + _SETTLED:
                if settled:
                    _remember(self._known_starts, step, _Start(known.after, starts))
                return starts
            # The past does not change any more, and reading it again each time is most of the cost.
            known = _Start(known.after, starts, over=True) if starts else _Start(end)
            _remember(self._known_starts, step, known)
        return found

    async def _first(self, question: EvidenceQuestion, window: Window) -> tuple[Mapping[str, Snapshot], bool]:
        """Return the step's start as far as a window shows it, and whether that was scraped long ago."""
        arms = Arms(question.candidate, question.stable)
        index = await self._series(question, _INDEX, window)
        few = first_scrapes(index, arms.revisions, first_block_of(question.since) - 1)
        starts = starts_of(question.since, await self._scrapes(question, arms, few, window))
        settled = few is not None and few.end + _SETTLED.total_seconds() < question.now.timestamp()
        return starts, settled

    async def _scrapes(
        self, question: EvidenceQuestion, arms: Arms, few: Window | None, every: Window
    ) -> Mapping[str, Scrapes]:
        """Read the few scrapes that are needed; all of them if an agent has no whole one among those."""
        if few is None:
            return {}
        scrapes = await self._decoded(question, arms, few)
        return scrapes if all(scrapes.values()) else await self._decoded(question, arms, every)

    async def _decoded(self, question: EvidenceQuestion, arms: Arms, window: Window) -> Mapping[str, Scrapes]:
        series = await self._series(question, _METRICS, window)
        return await asyncio.to_thread(scrapes_of, series, arms.revisions)

    async def _series(
        self, question: EvidenceQuestion, metrics: tuple[str, ...], window: Window
    ) -> tuple[CountSeries, ...]:
        form = {"query": selector(question, metrics, window), "time": f"{window.end:.3f}"}
        try:
            async with asyncio.timeout(self._limits.seconds):
                body = await self._body(form)
        except TimeoutError:
            raise _unavailable("Prometheus did not answer in time") from None
        except (httpx.HTTPError, httpx.StreamError, OSError):
            raise _unavailable(
                "Prometheus cannot be reached, or broke off its answer:"
                " check CHAFFINCH_PROMETHEUS_URL (chart value prometheus.url)"
            ) from None
        # A large reply takes a while to read, and other rollouts must not wait for it.
        return await asyncio.to_thread(read_matrix, body, window)

    async def _body(self, form: dict[str, str]) -> bytes:
        async with self._client.stream("POST", self._url, data=form) as response:
            _refuse_all_but_json(response)
            body = bytearray()
            async for part in response.aiter_raw():
                body += part
                if len(body) > self._limits.bytes:
                    raise _unavailable("the reply of Prometheus is too large")
            return bytes(body)


def selector(question: EvidenceQuestion, metrics: tuple[str, ...], window: Window) -> str:
    """Return the range selector of a question: these metrics of both arms, and of nothing else."""
    revisions = sorted(Arms(question.candidate, question.stable).revisions)
    matchers = ",".join(
        (
            f'__name__=~"{"|".join(metrics)}"',
            f'rollout_uid="{escaped(question.rollout_uid)}"',
            f'attempt="{question.attempt}"',
            f'revision=~"{"|".join(escaped(re.escape(revision)) for revision in revisions)}"',
        )
    )
    return f"{{{matchers}}}[{round((window.end - window.start) * 1000)}ms]"


def escaped(text: str) -> str:
    """Return a text as it stands between the double quotes of a PromQL string."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _remember(memory: dict[_Step, _Known], step: _Step, known: _Known) -> None:
    """Keep something, at the cost of what was kept longest."""
    memory.pop(step, None)
    while len(memory) >= _MOST_KNOWN:
        del memory[next(iter(memory))]
    memory[step] = known


def _until(end: datetime, reach: timedelta) -> Window:
    return Window((end - reach).timestamp(), end.timestamp())


def _refuse_all_but_json(response: httpx.Response) -> None:
    if response.is_redirect:
        raise _unavailable("Prometheus answered with a redirect, which is not followed")
    if response.status_code != httpx.codes.OK:
        kind = "a server error" if response.is_server_error else "a refusal"
        raise _unavailable(f"Prometheus answered with {kind} (HTTP {response.status_code})")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _unavailable("the reply of Prometheus is compressed, which was not asked for")
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _unavailable("the reply of Prometheus is not JSON")


def _unavailable(text: str) -> UnusableReplyError:
    return UnusableReplyError(Problem.UNAVAILABLE, text)
