"""Scrapes of router agents for tests, as Prometheus would hand them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chaffinch.domain.block_vector import BlockVector, LatencyCounts, Outcome
from chaffinch.domain.grid import BUCKET_COUNT
from chaffinch.domain.vector_series import encode

EDGES = (200, 202, 204, 206, 260)
CANDIDATE, STABLE = "0a1b2c3d", "9f8e7d6c"


def vector(
    *,
    first: int,
    block: int,
    ok: int = 0,
    cut: int = 0,
    client_4xx: int = 0,
    left: int = 0,
    fast: int | None = None,
    edges: tuple[int, ...] = EDGES,
) -> BlockVector:
    """A vector whose ``ok`` requests took bucket 202's time (``fast`` of them bucket 200's).

    The clients of ``left`` more requests left after bucket 206's time.
    """
    quick = 0 if fast is None else fast
    buckets = [0] * BUCKET_COUNT
    buckets[200], buckets[202], buckets[-1] = quick, ok - quick, cut
    waits = [0] * BUCKET_COUNT
    waits[206] = left
    requests = {
        Outcome.OK: ok,
        Outcome.ERROR_CUT: cut,
        Outcome.CLIENT_4XX: client_4xx,
        Outcome.CLIENT_GONE_EARLY: left,
    }
    latency = LatencyCounts.of(buckets, edges)
    return BlockVector(
        first_block=first,
        block=block,
        requests=tuple(requests.get(outcome, 0) for outcome in Outcome),
        ttft=latency,
        e2e=latency,
        left=LatencyCounts.of(waits, edges),
    )


@dataclass
class Scrapes:
    """Series by label set, filled scrape by scrape."""

    series: dict[frozenset[tuple[str, str]], list[list[Any]]] = field(default_factory=dict)

    def add(self, agent: str, at: float, vectors: Mapping[str, BlockVector], **labels: str) -> Scrapes:
        for revision, one in vectors.items():
            for series in encode(one):
                own = {series.label: series.value} if series.label else {}
                names = {"__name__": series.metric, "revision": revision, "agent": agent, **own, **labels}
                self.series.setdefault(frozenset(names.items()), []).append([at, str(series.count)])
        return self

    def result(self) -> list[dict[str, Any]]:
        return [{"metric": dict(labels), "values": values} for labels, values in self.series.items()]

    def reply(self, **more: object) -> dict[str, Any]:
        return {"status": "success", "data": {"resultType": "matrix", "result": self.result()}, **more}


def both(candidate: BlockVector, stable: BlockVector) -> Mapping[str, BlockVector]:
    return {CANDIDATE: candidate, STABLE: stable}


def counted(scrapes: Iterable[tuple[str, float, Mapping[str, BlockVector]]]) -> Scrapes:
    filled = Scrapes()
    for agent, at, vectors in scrapes:
        filled.add(agent, at, vectors)
    return filled
