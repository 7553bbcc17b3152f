"""Scripted evidence: what the routers counted, as raw samples, in the form that Prometheus answers in.

Each answer holds one scrape of one agent, which is scraped at every full second. Its vectors begin in a
block that is still to come then, so all that they count is within the step that is asked about, whenever
that began: a test need not wait for blocks to pass, and what it sees does not depend on how fast it is. With
each block comes another agent, for the counters of one never begin anew.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from chaffinch.domain.block_vector import (
    BLOCK_SECONDS,
    BlockVector,
    LatencyCounts,
    Outcome,
)
from chaffinch.domain.grid import BUCKET_COUNT, bucket_of
from chaffinch.domain.vector_series import encode, own_label

_EDGES = tuple(range(bucket_of(0.05), bucket_of(5.0)))
"""Where routers would count, for limits of some hundred milliseconds; all edges would only cost time."""

_HANGS_SECONDS = 60.0  # longer than anybody waits
_NOBODY_LEFT = LatencyCounts(_EDGES, (0,) * len(_EDGES), 0)
_MATCHER = re.compile(r'(\w+)(=~|=)"([^"]*)"')


@dataclass(slots=True)
class Script:
    """What is counted, and who does not do what is expected of them.

    Attributes:
        requests: Requests of each revision, none of which fails.
        seconds: Every latency of a revision that is not slow.
        slow_seconds: Every latency of one that is.
        slow: The slow revisions.
        silent: No series at all: the routers have not been scraped.
        unheard: Revisions of which nothing was counted.
        busy: Revisions whose probe workers do not come to an end.
        deaf: Rollouts, as ``NAMESPACE/NAME``, whose routers cannot be asked what they do.
        unanswered: Uids of rollouts about which the Prometheus does not answer in time.
    """

    requests: int = 5000
    seconds: float = 0.2
    slow_seconds: float = 2.0
    slow: Collection[str] = field(default_factory=frozenset)
    silent: bool = False
    unheard: Collection[str] = field(default_factory=frozenset)
    busy: Collection[str] = field(default_factory=frozenset)
    deaf: Collection[str] = field(default_factory=frozenset)
    unanswered: Collection[str] = field(default_factory=frozenset)

    def latency(self, revision: str) -> float:
        """Return the one latency of a revision."""
        return self.slow_seconds if revision in self.slow else self.seconds

    def vector(self, revision: str, block: int) -> BlockVector:
        """Return all that was counted of a revision, in one block."""
        buckets = [0] * BUCKET_COUNT
        buckets[bucket_of(self.latency(revision))] = self.requests
        counts = LatencyCounts.of(buckets, _EDGES)
        requests = tuple(self.requests if outcome is Outcome.OK else 0 for outcome in Outcome)
        return BlockVector(block, block, requests, counts, counts, _NOBODY_LEFT)


def query_app(script: Script) -> web.Application:
    """Build the server of ``/api/v1/query``."""

    async def query(request: web.Request) -> web.Response:
        form = await request.post()
        text = str(form["query"])
        if any(uid in text for uid in script.unanswered):
            await asyncio.sleep(_HANGS_SECONDS)
        series = [] if script.silent else _series(script, text, float(str(form["time"])))
        data = {"resultType": "matrix", "result": series}
        return web.json_response({"status": "success", "data": data})

    app = web.Application()
    app.router.add_post("/api/v1/query", query)
    return app


def _series(script: Script, query: str, end: float) -> list[dict[str, Any]]:
    matchers = {name: value for name, _, value in _MATCHER.findall(query)}
    # A later question about the same scrape must find the same: one that ends at it does not see another.
    names, at = matchers["__name__"].split("|"), math.floor(end)
    block = at // BLOCK_SECONDS + 1
    common = {name: matchers[name] for name in ("rollout_uid", "attempt")} | {"agent": f"scripted-{block}"}
    return [
        _one(series.metric, {**common, "revision": revision}, series.value, [at, str(series.count)])
        for revision in matchers["revision"].split("|")
        if revision not in script.unheard
        for series in encode(script.vector(revision, block))
        if series.metric in names
    ]


def _one(metric: str, labels: dict[str, str], own: str, sample: list[object]) -> dict[str, Any]:
    label = {own_label(metric): own} if own_label(metric) else {}
    return {"metric": {"__name__": metric, **labels, **label}, "values": [sample]}
