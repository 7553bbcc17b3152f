"""A server whose query API answers as a test tells it, and the question that tests ask it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from aiohttp import web

from chaffinch.adapters.prometheus import PrometheusEvidence
from chaffinch.adapters.prometheus_queries import Limits
from chaffinch.domain.block_vector import BlockVector
from chaffinch.domain.evidence import Evidence, NoEvidence
from chaffinch.ports.evidence import EvidenceQuestion
from unit.domain.scrapes import CANDIDATE, STABLE, Scrapes, both, vector

B = 177_000_000
NOW = B * 10 + 400.0
QUESTION = EvidenceQuestion(
    rollout_uid="7d0f",
    attempt=3,
    candidate=CANDIDATE,
    stable=STABLE,
    since=datetime.fromtimestamp(B * 10, UTC),
    now=datetime.fromtimestamp(NOW, UTC),
)
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def scrapes(*, at: float = NOW - 2, block: int = B + 35, ok: int = 5000) -> Scrapes:
    arms = both(vector(first=B, block=block, ok=ok), vector(first=B, block=block, ok=ok))
    return Scrapes().add("router-a-1", at, arms)


def respond(body: object, status: int = 200, content_type: str = "application/json") -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=data, status=status, content_type=content_type)

    return answer


def by_window(start: Answer, end: Answer) -> Answer:
    """Answer the question about the step's start, and the one about now."""

    async def answer(request: web.Request) -> web.StreamResponse:
        form = await request.post()
        return await (start if str(form["query"]).endswith("[150000ms]") else end)(request)

    return answer


def holding(stored: Scrapes, asked: list[tuple[str, float, float]]) -> Answer:
    """Answer range selectors as a Prometheus with these scrapes does; note which, from when until when."""

    async def answer(request: web.Request) -> web.StreamResponse:
        form = await request.post()
        query, end = str(form["query"]), float(str(form["time"]))
        names = query.partition('"')[2].partition('"')[0].split("|")
        start = end - int(query.rpartition("[")[2].removesuffix("ms]")) / 1000
        asked.append(("index" if len(names) == 1 else "all", start - B * 10, end - B * 10))
        found = [
            {**series, "values": values}
            for series in stored.result()
            if series["metric"]["__name__"] in names
            and (values := [value for value in series["values"] if start <= value[0] <= end])
        ]
        return web.json_response(Scrapes().reply(data={"resultType": "matrix", "result": found}))

    return answer


def alike(first: int, block: int, ok: int) -> dict[str, BlockVector]:
    one = vector(first=first, block=block, ok=ok)
    return dict(both(one, one))


NOTHING_AT_START = respond(Scrapes().reply())


@asynccontextmanager
async def prometheus(answer: Answer) -> AsyncIterator[str]:
    """A server whose query API answers as told; its address."""
    app = web.Application()
    app.router.add_route("*", "/prefix/api/v1/query", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/prefix/"
    finally:
        await runner.cleanup()


async def ask(
    answer: Answer, *, question: EvidenceQuestion = QUESTION, limits: Limits | None = None
) -> Evidence | NoEvidence:
    async with prometheus(answer) as url:
        source = PrometheusEvidence(url, limits=limits)
        try:
            return await source.live(question)
        finally:
            await source.aclose()
