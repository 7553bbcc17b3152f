"""What the scale measurement makes of a scrape and of an audit log."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from prometheus_client import generate_latest

from bench.scale import __main__ as scale
from bench.scale.audit import AuditTail, but_leases
from bench.scale.controller import Usage
from bench.scale.evidence import E2E_SECONDS, Prometheus, Routers, of_a_block
from bench.scale.figures import Row, Scrape, Span, table
from bench.scale.measurement import AuditedCalls
from chaffinch.adapters.prometheus import PrometheusEvidence
from chaffinch.domain.evidence import Evidence
from chaffinch.ports.evidence import EvidenceQuestion
from chaffinch.runtime.metrics import Metrics

OPERATOR = "system:serviceaccount:chaffinch-system:chaffinch"


def _scrape(*seconds: float, calls: int = 0) -> Scrape:
    metrics = Metrics()
    for each in seconds:
        metrics.had_pass("rollout", failed=False, seconds=each)
    metrics.had_pass("probe", failed=False, seconds=100)
    for _ in range(calls):
        metrics.request("get", "Pod", "200", 0.01)
        metrics.request("get", "Pod", "404", 0.01)
    return Scrape.of(generate_latest(metrics.registry).decode())


def test_a_scrape_holds_the_passes_of_rollouts_and_the_calls_whatever_came_of_them() -> None:
    scrape = _scrape(0.2, 0.3, calls=3)
    assert (scrape.total_passes(), scrape.calls) == (2, {("get", "Pod"): 6})


def test_a_quantile_lies_between_the_edges_of_its_bucket() -> None:
    scrape = _scrape(*[0.2] * 98, 0.8, 0.8)
    assert 0.1 < scrape.quantile(0.5) <= 0.25
    assert 0.5 < scrape.quantile(0.99) <= 1


def test_a_quantile_beyond_the_last_edge_is_infinite_and_one_of_nothing_is_not_a_number() -> None:
    assert _scrape(1000).quantile(0.99) == math.inf
    assert math.isnan(_scrape().quantile(0.99))


@pytest.mark.parametrize(
    ("value", "target", "ok"),
    [(1.0, 1.0, True), (1.1, 1.0, False), (9.0, None, True), (math.nan, 1.0, False)],
)
def test_a_target_is_met_up_to_its_value_and_never_by_nothing(
    value: float, target: float | None, ok: bool
) -> None:
    assert Row("it", value, target).ok is ok


def test_a_span_counts_only_what_happened_in_it() -> None:
    start = (Usage(at=10, cpu_seconds=5, rss_mib=1, peak_mib=1), _scrape(0.2, calls=1))
    end = (Usage(at=40, cpu_seconds=20, rss_mib=1, peak_mib=1), _scrape(0.2, 0.2, 0.2, calls=4))
    span = Span.between(start, end)
    assert (span.seconds, span.cores, span.counted.total_passes()) == (30, 0.5, 2)
    assert span.per_minute(span.counted.total_calls()) == 12


def test_the_table_marks_what_missed_its_target() -> None:
    lines = table([Row("good", 1, 2), Row("bad", 3, 2), Row("told", 4)]).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["good", "1.000", "2"],
        ["bad", "3.000", "2", "MISSED"],
        ["told", "4.000", "-"],
    ]


def _event(verb: str, resource: str, user: str = OPERATOR, stage: str = "ResponseComplete") -> str:
    event = {"stage": stage, "verb": verb, "user": {"username": user}, "objectRef": {"resource": resource}}
    return json.dumps(event, separators=(",", ":")) + "\n"


def test_only_what_the_user_wrote_since_the_last_look_is_counted(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(_event("patch", "configmaps"))
    with closing(AuditTail(log, OPERATOR)) as tail:
        with log.open("a") as more:
            more.write(_event("update", "leases") + _event("get", "pods"))
            more.write(_event("patch", "pods", user="admin") + _event("create", "events"))
            more.write(_event("create", "events", stage="RequestReceived"))
            more.write(_event("delete", "services")[:20])
        assert tail.writes() == {"update leases": 1, "create events": 1}
        assert but_leases({"update leases": 1, "create events": 1}) == {"create events": 1}

        with log.open("a") as more:
            more.write(_event("delete", "services")[20:])
        assert tail.writes() == {"delete services": 1}
        assert tail.writes() == {}


def test_nothing_is_missed_when_the_api_server_begins_a_new_log(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.touch()
    with closing(AuditTail(log, OPERATOR)) as tail:
        log.write_text(_event("create", "pods"))
        assert tail.requests() == {"create pods": 1}
        with log.open("a") as more:
            more.write(_event("get", "pods"))
        log.rename(tmp_path / "audit-1.log")
        assert tail.requests() == {"get pods": 1}  # and there is no new one yet
        log.write_text(_event("watch", "pods"))
        assert tail.requests() == {"watch pods": 1}


def test_the_calls_of_a_peer_are_those_of_the_log_reads_and_writes(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.touch()
    with closing(AuditTail(log, OPERATOR)) as tail:
        count = AuditedCalls(tail)
        log.write_text(_event("get", "pods") + _event("update", "leases"))
        start = count()
        with log.open("a") as more:
            more.write(_event("get", "pods") * 2)
        assert count().since(start).calls == {("get", "pods"): 2, ("update", "leases"): 0}


@pytest.mark.parametrize(
    ("began", "blocks"), [(177_000_000, [4, 10]), (177_000_032, [2, 8])], ids=["long before", "in the step"]
)
async def test_the_operators_own_reader_finds_evidence_that_grows_with_every_scrape(
    began: int, blocks: list[int]
) -> None:
    since = datetime.fromtimestamp(1_770_000_300, UTC)
    edges = tuple(range(150, 450))  # so many that a router without requests exports not all of them
    runner = web.AppRunner(Prometheus(Routers(began, edges, edges)).app())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    source = PrometheusEvidence(f"http://127.0.0.1:{runner.addresses[0][1]}")
    counted = []
    for seconds in (60, 120):
        now = since + timedelta(seconds=seconds)
        question = EvidenceQuestion("7d0f", 2, "0a1b2c3d", "9f8e7d6c", since, now)
        evidence = await source.live(question)
        assert isinstance(evidence, Evidence)
        assert evidence.control is not None
        counted.append((evidence.candidate.requests, evidence.control.requests, evidence.candidate.errors))
    await source.aclose()
    await runner.cleanup()
    block = 2 * sum(of_a_block(E2E_SECONDS))  # two routers
    assert counted == [(each * block, each * block, 0) for each in blocks]


def test_a_measurement_that_is_asked_to_end_ends_what_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    def measured(_: object) -> list[Row]:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(30)
        finally:
            ended.append("the operator")
        return []

    monkeypatch.setattr(scale, "measured", measured)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as caught:
            scale.main([])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (caught.value.code, ended) == (143, ["the operator"])
