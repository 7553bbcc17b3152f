"""The scripted Prometheus and workers, read by what reads the real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from chaffinch.adapters.prometheus import PrometheusEvidence
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec, WarmUp
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES
from chaffinch.domain.evidence import Evidence, LatencyMetric, NoEvidence, Problem
from chaffinch.domain.grid import bucket_of
from chaffinch.ports.evidence import EvidenceQuestion
from chaffinch.probe.plan import plan_of
from chaffinch.probe.result import parse_record, warm_up_problem
from kwokstage.evidence import Script, query_app
from kwokstage.workers import plan_in, record_of

CANDIDATE, STABLE = "0a1b2c3d", "9f8e7d6c"
BEGIN_OF_BLOCK = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
POD = "http://10.200.0.1:8000"


@asynccontextmanager
async def source(script: Script) -> AsyncIterator[PrometheusEvidence]:
    runner = web.AppRunner(query_app(script), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    evidence = PrometheusEvidence(f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        yield evidence
    finally:
        await evidence.aclose()
        await runner.cleanup()


def question(since_seconds_ago: float, now: datetime = BEGIN_OF_BLOCK) -> EvidenceQuestion:
    return EvidenceQuestion("uid", 2, CANDIDATE, STABLE, now - timedelta(seconds=since_seconds_ago), now)


@pytest.mark.parametrize("within_block", [0.0, 0.0004, 0.3, 1.2, 4.9, 4.9996])
@pytest.mark.parametrize("seconds", [0.0, 0.5, 3.0, 30.0, 200.0])
async def test_evidence_is_whole_however_young_the_step_is(seconds: float, within_block: float) -> None:
    script = Script(requests=700, slow={CANDIDATE}, seconds=0.2, slow_seconds=0.4)
    async with source(script) as prometheus:
        for _ in range(2):  # what is remembered of the first answer must not spoil the second one
            found = await prometheus.live(question(seconds, BEGIN_OF_BLOCK + timedelta(seconds=within_block)))
            assert isinstance(found, Evidence)
            assert found.control is not None
            assert (found.candidate.requests, found.candidate.errors) == (700, 0)
            ttft = [arm.latencies[LatencyMetric.TTFT] for arm in (found.candidate, found.control)]
            assert [arm.counts[bucket_of(at)] for arm, at in zip(ttft, (0.4, 0.2), strict=True)] == [700, 700]


async def test_evidence_stays_whole_from_one_question_to_the_next() -> None:
    began = BEGIN_OF_BLOCK + timedelta(seconds=2)
    async with source(Script(requests=700)) as prometheus:
        for seconds in (1, 6, 11, 16, 21, 46):
            found = await prometheus.live(question(seconds, began + timedelta(seconds=seconds)))
            assert isinstance(found, Evidence), (seconds, found)
            assert found.candidate.requests == 700


@pytest.mark.parametrize("script", [Script(silent=True), Script(unheard={CANDIDATE})])
async def test_nothing_counted_is_no_evidence(script: Script) -> None:
    async with source(script) as prometheus:
        found = await prometheus.live(question(30))
    assert isinstance(found, NoEvidence)
    assert found.problem is Problem.NO_DATA


@pytest.mark.parametrize("load", [BUILT_IN_PROFILES["smoke/v1"], WarmUp(requests=8, concurrency=4)])
def test_a_worker_hands_over_the_result_of_the_plan_in_its_pod(load: ProbeProfileSpec | WarmUp) -> None:
    plan = plan_of(load, probe_uid="uid", attempt=3, targets=(POD, POD), model="chat")
    pod = {"spec": {"containers": [{"args": ["--plan", plan.to_json(), "--port", "9090"]}]}}
    record = parse_record(record_of(plan_in(pod), 0.2).to_json(), probe_uid="uid", attempt=3)
    assert [stage.requests for stage in record.stages] == [stage.requests for stage in plan.stages]
    assert warm_up_problem(record) is None
