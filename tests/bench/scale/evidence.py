"""A Prometheus with the counters of two routers of every rollout, as if each had served the same requests.

It answers the operator's range selectors with samples of a fixed rhythm: what was scraped at one moment never
changes, and grows by the same counts in each block, so the operator reads as much of it, and as often, as it
would of real routers. All rollouts are alike but for their labels, so an answer is made once per rhythm and
only its labels are filled in for each question.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist

from aiohttp import web

from chaffinch.agent.blocks import SETTLE_SECONDS
from chaffinch.domain.block_vector import BLOCK_SECONDS, BlockVector, LatencyCounts, Outcome
from chaffinch.domain.grid import BUCKET_COUNT, EDGES_SECONDS, GROWTH, bucket_of
from chaffinch.domain.vector_series import Series, encode

SCRAPE_SECONDS = 15
AGENTS = ("router-1", "router-2")
REQUESTS_PER_BLOCK = 5000
"""Enough to rule out a regression of 5 % in a minute or two, so that canaries are promoted."""
SPREAD = 0.5
"""The standard deviation of a latency's logarithm: of thousands the slowest takes five times the median."""
TTFT_SECONDS = 0.2
E2E_SECONDS = 4.0
"""Medians."""

_FARTHEST = 3.5  # standard deviations

_MOST_RENDERED = (
    4 * SCRAPE_SECONDS
)  # for each moment of scraping the index, a start and an end, and one to spare

_UID, _ATTEMPT, _REVISION = "{uid}", "{attempt}", "{revision}"
_MATCHER = re.compile(r'(\w+)=~?"([^"]*)"')
_REACH = re.compile(r"\[(\d+)ms\]$")


@dataclass(frozen=True, slots=True)
class Routers:
    """What every router counts.

    Attributes:
        first_block: The block in which it began.
        ttft: Exported edges of the time to first token, as indices of the grid.
        e2e: The same of whole answers.
    """

    first_block: int
    ttft: tuple[int, ...]
    e2e: tuple[int, ...]

    def vector(self, at: float) -> BlockVector:
        """Return what one router exports of one arm at a time."""
        block = int((at - SETTLE_SECONDS) // BLOCK_SECONDS) - 1
        blocks = max(0, block - self.first_block + 1)
        ttft, e2e = (
            [blocks * count for count in of_a_block(median)] for median in (TTFT_SECONDS, E2E_SECONDS)
        )
        return BlockVector(
            self.first_block,
            max(block, self.first_block - 1),
            tuple(sum(e2e) if outcome is Outcome.OK else 0 for outcome in Outcome),
            LatencyCounts.of(ttft, self.ttft),
            LatencyCounts.of(e2e, self.e2e),
            LatencyCounts.of([0] * BUCKET_COUNT, self.ttft),
        )


@lru_cache
def of_a_block(median: float) -> tuple[int, ...]:
    """Return one block's latencies: a count per bucket of the grid, of which none within reach is empty."""
    farthest, sigmas = _FARTHEST * SPREAD, math.log(GROWTH) / SPREAD
    density = NormalDist().pdf
    counts = [0] * BUCKET_COUNT
    for bucket in range(bucket_of(median * math.exp(-farthest)), bucket_of(median * math.exp(farthest))):
        away = math.log(EDGES_SECONDS[bucket] / median) / SPREAD
        counts[bucket] = max(1, round(REQUESTS_PER_BLOCK * sigmas * density(away)))
    return tuple(counts)


class Prometheus:
    """The answers to range selectors."""

    def __init__(self, routers: Routers) -> None:
        self._routers = routers
        self._arm = lru_cache(maxsize=_MOST_RENDERED)(self._rendered)

    def app(self) -> web.Application:
        """Return the server of ``/api/v1/query``."""

        async def query(request: web.Request) -> web.Response:
            form = await request.post()
            body = self.answer(str(form["query"]), float(str(form["time"])))
            return web.Response(body=body.encode(), content_type="application/json")

        app = web.Application()
        app.router.add_post("/api/v1/query", query)
        return app

    def answer(self, query: str, end: float) -> str:
        """Return the reply to a selector of whole vectors, or of one metric of them."""
        reach = _REACH.search(query)
        if reach is None:
            raise web.HTTPBadRequest(text="only range selectors in milliseconds are answered")
        asked = dict(_MATCHER.findall(query))
        scrapes = scrapes_between(end - int(reach[1]) / 1000, end, asked["rollout_uid"])
        arm = self._arm(tuple(asked["__name__"].split("|")), scrapes) if scrapes else ""
        arm = arm.replace(_UID, asked["rollout_uid"]).replace(_ATTEMPT, asked["attempt"])
        arms = [arm.replace(_REVISION, revision) for revision in asked["revision"].split("|")]
        series = ",".join(text for text in arms if text)
        return f'{{"status":"success","data":{{"resultType":"matrix","result":[{series}]}}}}'

    def _rendered(self, names: Sequence[str], scrapes: Sequence[int]) -> str:
        """Return the series of one arm, without their brackets; its own labels are left to be filled in."""
        samples: dict[Series, list[tuple[int, str]]] = {}
        for at in scrapes:
            # By their names: a router that has counted more exports more series.
            for one in encode(self._routers.vector(at)):
                if one.metric in names:
                    samples.setdefault(replace(one, count=0), []).append((at, str(one.count)))
        series: list[dict[str, object]] = []
        for agent in AGENTS:
            for one, values in samples.items():
                labels = {"__name__": one.metric, "agent": agent, "rollout_uid": _UID, "attempt": _ATTEMPT}
                own = {one.label: one.value} if one.label else {}
                series.append({"metric": {**labels, "revision": _REVISION, **own}, "values": values})
        return json.dumps(series, separators=(",", ":"))[1:-1]


def scrapes_between(start: float, end: float, target: str) -> tuple[int, ...]:
    """Return the times of all scrapes after one moment and up to another, in Unix seconds.

    As Prometheus does, each target is scraped at a moment of its own within the interval.

    Args:
        start: The moment after which.
        end: The moment up to which.
        target: Who is scraped.
    """
    offset = zlib.crc32(target.encode()) % SCRAPE_SECONDS
    first, last = (int((moment - offset) // SCRAPE_SECONDS) for moment in (start, end))
    return tuple(SCRAPE_SECONDS * index + offset for index in range(first + 1, last + 1))
