"""A real Prometheus scrapes a real exposition, and what was exposed comes back exactly."""

from __future__ import annotations

import asyncio
import contextlib
import math
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from chaffinch.adapters.prometheus import PrometheusEvidence
from chaffinch.domain.block_vector import CHECKSUM, HORIZON_SECONDS, BlockVector
from chaffinch.domain.evidence import Evidence, LatencyMetric, NoEvidence, Problem
from chaffinch.domain.grid import OVERFLOW, bucket_of
from chaffinch.domain.vector_series import encode
from chaffinch.ports.evidence import EvidenceQuestion
from localcluster import Settings
from localcluster.programs import folder_for
from loopback import free_port
from unit.domain.scrapes import CANDIDATE, STABLE, both, vector

DEADLINE_SECONDS = 60
EVERY_EDGE = tuple(range(bucket_of(HORIZON_SECONDS)))


def program() -> str | None:
    """Return the Prometheus that the local cluster was built with, or else an installed one."""
    built = folder_for(Settings.from_environment()) / "prometheus"
    return str(built) if built.exists() else shutil.which("prometheus")


PROMETHEUS = program()


@pytest.fixture(scope="module", autouse=True)
def prometheus_is_here() -> None:
    """Fail, never skip: evidence that was not read has not passed."""
    if PROMETHEUS is None:
        pytest.fail("there is no Prometheus here; the local cluster builds it: python -m localcluster up")


@dataclass
class Exposition:
    """What the agents export now: vectors by agent and revision; ``torn`` breaks the checksums."""

    agents: dict[str, Mapping[str, BlockVector]] = field(default_factory=dict)
    torn: bool = False
    scrapes: int = 0

    def text(self) -> str:
        return "".join(
            self._line(agent, revision, one)
            for agent, vectors in self.agents.items()
            for revision, vector in vectors.items()
            for one in ((s.metric, s.label, s.value, s.count) for s in encode(vector))
        )

    def _line(self, agent: str, revision: str, series: tuple[str, str, str, int]) -> str:
        metric, label, value, count = series
        own = f',{label}="{value}"' if label else ""
        labels = (
            f'rollout_namespace="llm",rollout="chat",rollout_uid="7d0f",attempt="3",revision="{revision}"'
        )
        shown = count ^ 1 if self.torn and metric == CHECKSUM else count
        return f'{metric}{{{labels},agent="{agent}"{own}}} {shown}\n'


@asynccontextmanager
async def exporter(exposition: Exposition) -> AsyncIterator[int]:
    async def metrics(_: web.Request) -> web.Response:
        exposition.scrapes += 1
        return web.Response(text=exposition.text())

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def prometheus(target: int, folder: Path) -> AsyncIterator[str]:
    config = folder / "prometheus.yml"
    config.write_text(
        "scrape_configs:\n- job_name: routers\n  scrape_interval: 1s\n  scrape_timeout: 1s\n"
        f"  static_configs: [{{targets: ['127.0.0.1:{target}']}}]\n"
    )
    address = f"127.0.0.1:{free_port()}"
    process = await asyncio.create_subprocess_exec(
        PROMETHEUS or "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=error",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield f"http://{address}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


Answered = Evidence | NoEvidence


async def answer_when(
    source: PrometheusEvidence, since: datetime, accept: Callable[[Answered], bool]
) -> Answered:
    """Ask until the answer is acceptable; the last answer, acceptable or not, at the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        question = EvidenceQuestion("7d0f", 3, CANDIDATE, STABLE, since, datetime.now(UTC))
        answered = await source.live(question)
        if accept(answered) or time.monotonic() > deadline:
            return answered
        await asyncio.sleep(0.2)


def alike(first: int, block: int, ok: int) -> Mapping[str, BlockVector]:
    one = vector(first=first, block=block, ok=ok, edges=EVERY_EDGE)
    return both(one, one)


async def test_what_two_routers_count_within_a_step_comes_back_exactly(tmp_path: Path) -> None:
    since = datetime.now(UTC)
    block = math.ceil(since.timestamp() / 10)
    exposition = Exposition({"router-a-1": alike(block - 9, block - 1, 1000)})
    async with exporter(exposition) as target, prometheus(target, tmp_path) as url:
        source = PrometheusEvidence(url)
        nothing_yet = NoEvidence(Problem.NO_DATA, "no router has counted the step's first block yet")
        assert await answer_when(source, since, lambda answered: answered == nothing_yet) == nothing_yet

        canary = vector(
            first=block - 9, block=block + 4, ok=1200, cut=3, client_4xx=9, fast=50, edges=EVERY_EDGE
        )
        exposition.agents = {
            "router-a-1": both(canary, vector(first=block - 9, block=block + 4, ok=4800, edges=EVERY_EDGE)),
            "router-b-7": alike(block + 1, block + 5, 30),
        }
        answered = await answer_when(source, since, lambda answered: isinstance(answered, Evidence))
        assert isinstance(answered, Evidence)
        assert answered.until == datetime.fromtimestamp((block + 5) * 10, UTC)
        assert (answered.candidate.requests, answered.candidate.errors) == (200 + 3 + 30, 3)
        ttft = answered.candidate.latencies[LatencyMetric.TTFT]
        assert {i: count for i, count in enumerate(ttft.counts) if count} == {
            200: 50,
            202: 180,
            OVERFLOW: 3,
        }
        assert answered.candidate.edges[LatencyMetric.E2E] == EVERY_EDGE
        assert answered.control is not None
        assert (answered.control.requests, answered.control.errors) == (3800 + 30, 0)
        await source.aclose()


async def test_scrapes_whose_checksums_do_not_hold_change_nothing(tmp_path: Path) -> None:
    since = datetime.now(UTC)
    block = math.ceil(since.timestamp() / 10)
    exposition = Exposition({"router-a-1": alike(block, block + 4, 100)})
    async with exporter(exposition) as target, prometheus(target, tmp_path) as url:
        source = PrometheusEvidence(url)
        whole = await answer_when(source, since, lambda answered: isinstance(answered, Evidence))
        assert isinstance(whole, Evidence)

        exposition.torn, exposition.agents = True, {"router-a-1": alike(block, block + 6, 9000)}
        # The third scrape from now is the proof that two of the torn ones are stored.
        enough = exposition.scrapes + 3
        after = await answer_when(source, since, lambda _: exposition.scrapes >= enough)
        assert exposition.scrapes >= enough
        assert after == whole
        await source.aclose()
