"""Traces of real passes, sent to a real receiver; and nothing of it where nobody asked for it."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from chaffinch.adapters.cluster import Report
from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.runtime.caretaker import Caretaker
from chaffinch.runtime.gather import Gatherer
from chaffinch.runtime.health import Health
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.logs import JsonFormatter
from chaffinch.runtime.loop import Pace
from chaffinch.runtime.observed import ObservedEvidence, ObservedRouters
from chaffinch.runtime.tracing import NoTracer, Tracer, reporting
from chaffinch.runtime.tracing_otlp import OtlpTracer
from chaffinch.runtime.wake import Wake
from fakes.cluster import FakeCluster, Key
from fakes.collector import Collector, ReceivedSpan, collector
from fakes.virtual_time import run
from fakes.world import NAME, NAMESPACE, Shop, rollout
from unit.runtime.scrape import series_of
from unit.runtime.shops import V2

SECRET = "s3cr3t-of-a-header"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collector() as one:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", one.url)
        yield one


class ReportingCluster(FakeCluster):
    """Tells about its requests as the adapter of production does."""

    report: Report | None = None

    async def _request(self, verb: str, key: Key) -> None:
        await super()._request(verb, key)
        if self.report:
            self.report(verb, key[0], "200", 0.002)


def _observed_shop(tracer: Tracer) -> Shop:
    cluster = ReportingCluster()
    shop = Shop(cluster=cluster)
    cluster.report = reporting(shop.metrics.request, tracer)
    world = shop.world
    object.__setattr__(world, "gatherer", Gatherer(cluster, ObservedRouters(shop.routers, tracer)))
    object.__setattr__(world, "evidence", ObservedEvidence(shop.evidence, shop.metrics, world.clock, tracer))
    return shop


async def _run(shop: Shop, tracer: Tracer, seconds: int) -> None:
    unused: Any = None
    health = Health(shop.world.clock, longest_pass=60)
    care = Caretaker(
        shop.world, unused, unused, health=health, pace=Pace(), chance=lambda: 0.5, tracer=tracer, passes=4
    )
    subject = Subject(SubjectKind.ROLLOUT, NAMESPACE, NAME, shop.body["metadata"]["uid"])
    task = asyncio.create_task(care.look_after(subject, Wake()))
    for _ in range(seconds):
        shop.obey()
        await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait([task])


def _canary(tracer: Tracer) -> Shop:
    async def story() -> Shop:
        shop = _observed_shop(tracer)
        shop.evidence.answer = NoEvidence(Problem.NO_DATA, f"nothing was counted, {SECRET}")
        env = [{"name": "TOKEN", "value": SECRET}]
        shop.apply(rollout(engine={"image": "engine:1", "env": env}))
        await _run(shop, tracer, 120)
        shop.apply(rollout(**V2))
        await _run(shop, tracer, 240)
        return shop

    return run(story())


def _children(spans: list[ReceivedSpan], root: ReceivedSpan) -> set[str]:
    return {span.name for span in spans if (span.trace_id, span.parent_id) == (root.trace_id, root.span_id)}


def test_a_pass_is_a_span_and_what_it_asks_are_its_children(receiver: Collector) -> None:
    tracer = OtlpTracer({"service.instance.id": "chaffinch-0"})
    shop = _canary(tracer)
    tracer.close()
    assert receiver.paths == {"/v1/traces"}
    assert receiver.resource()["service.name"] == "chaffinch-operator"
    assert receiver.resource()["service.instance.id"] == "chaffinch-0"
    spans = receiver.spans()
    roots = [span for span in spans if not span.parent_id]
    assert {span.name for span in roots} == {"rollout pass"}
    assert len({span.trace_id for span in roots}) == len(roots) > 40
    last = roots[-1]
    assert last.attributes == {
        "chaffinch.namespace": NAMESPACE,
        "chaffinch.name": NAME,
        "chaffinch.uid": shop.body["metadata"]["uid"],
        "chaffinch.revision": shop.status["candidate"]["revision"],
        "chaffinch.attempt": 2,
        "chaffinch.stage.before": "Stepping",
        "chaffinch.stage.after": "Stepping",
        "chaffinch.write_order": "StatusFirst",
        "chaffinch.acts": True,
        "chaffinch.problems": 0,
        "chaffinch.verdict": "Inconclusive",
        "chaffinch.verdict.reason": "NoData",
        "chaffinch.hold": "NoData",
    }
    assert {"get InferenceRollout", "list Pod", "ask routers", "read evidence"} <= _children(spans, last)
    read = next(span for span in spans if span.name == "list Pod")
    assert read.attributes == {
        "chaffinch.verb": "list",
        "chaffinch.kind": "Pod",
        "http.response.status_code": 200,
    }
    assert read.seconds == pytest.approx(0.002, abs=0.0005)
    asked = [span for span in spans if span.name == "ask routers"][-1]
    assert asked.attributes == {"chaffinch.routers.asked": 2, "chaffinch.routers.answered": 2}
    evidence = [span for span in spans if span.name == "read evidence"][-1]
    assert (evidence.attributes, evidence.failed) == (
        {"chaffinch.attempt": 2, "chaffinch.evidence": "NoData"},
        True,
    )
    assert SECRET.encode() not in b"".join(receiver.bodies)


def test_a_pass_that_fails_is_a_span_that_failed(receiver: Collector) -> None:
    async def story(tracer: Tracer) -> None:
        shop = _observed_shop(tracer)
        shop.apply(rollout())
        shop.cluster.fault = lambda verb, _: RuntimeError(SECRET) if verb == "list" else None
        await _run(shop, tracer, 1)

    tracer = OtlpTracer({})
    run(story(tracer))
    tracer.close()
    (root,) = [span for span in receiver.spans() if not span.parent_id]
    assert (root.name, root.failed) == ("rollout pass", True)
    assert SECRET.encode() not in b"".join(receiver.bodies)


class _Lines(logging.Handler):
    """Keeps what is logged, as it would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(JsonFormatter().format(record)))


@pytest.fixture
def logged() -> Iterator[list[dict[str, str]]]:
    handler, ours = _Lines(), logging.getLogger("chaffinch")
    ours.addHandler(handler)
    before = ours.level
    ours.setLevel(logging.INFO)
    yield handler.lines
    ours.setLevel(before)
    ours.removeHandler(handler)


def test_log_lines_of_a_pass_name_its_trace_rollout_and_revision(
    receiver: Collector, logged: list[dict[str, str]]
) -> None:
    tracer = OtlpTracer({})
    shop = _canary(tracer)
    tracer.close()
    entered = next(line for line in logged if line["message"].startswith("SetWeight"))
    place = {"kind": "rollout", "namespace": NAMESPACE, "rollout": NAME}
    told = {"revision": shop.status["candidate"]["revision"], "attempt": "2"}
    assert place.items() | told.items() <= entered.items()
    traces = {span.trace_id for span in receiver.spans() if not span.parent_id}
    assert entered["trace_id"] in traces


def test_without_an_endpoint_lines_name_the_rollout_and_no_trace(logged: list[dict[str, str]]) -> None:
    shop = _canary(NoTracer())
    entered = next(line for line in logged if line["message"].startswith("SetWeight"))
    assert (entered["rollout"], entered["revision"]) == (NAME, shop.status["candidate"]["revision"])
    assert "trace_id" not in entered


def test_readings_of_evidence_are_counted_with_and_without_traces() -> None:
    shop = _canary(NoTracer())
    reads = series_of(shop.metrics.registry, "chaffinch_evidence_reads_total", "result")
    (count,) = series_of(shop.metrics.registry, "chaffinch_evidence_read_seconds_count").values()
    assert reads == {("NoData",): count}
    assert count == len(shop.evidence.questions) > 0


def test_nothing_of_opentelemetry_is_imported_unless_it_is_asked_for() -> None:
    program = "import sys, chaffinch.__main__; print([m for m in sys.modules if m.startswith('opentele')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_collector_that_is_away_costs_no_pass_and_little_at_the_end(
    monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, str]]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    tracer = OtlpTracer({})
    began = time.monotonic()
    tracer.begin("rollout pass", {}).end({})
    assert time.monotonic() - began < 1
    while not logged:
        assert time.monotonic() - began < 30
        time.sleep(0.05)
    ending = time.monotonic()
    tracer.begin("rollout pass", {}).end({})
    tracer.close()
    assert time.monotonic() - ending < 6
    assert [line["message"] for line in logged] == [
        "traces cannot be sent: check OTEL_EXPORTER_OTLP_ENDPOINT (chart value tracing.endpoint)"
    ]


def test_a_collector_that_takes_traces_again_is_told_of(
    receiver: Collector, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, str]]
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    tracer, deadline = OtlpTracer({}), time.monotonic() + 30
    for status in (400, 400, 200, 200):
        receiver.status, before = status, len(receiver.bodies)
        tracer.begin("rollout pass", {}).end({})
        while len(receiver.bodies) == before:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    tracer.close()
    assert [line["message"].partition(":")[0] for line in logged] == [
        "traces cannot be sent",
        "traces are sent again",
    ]


@pytest.mark.parametrize(
    ("code", "failed"),
    [("200", False), ("404", False), ("409", False), ("403", True), ("503", True), ("none", True)],
)
def test_a_request_failed_unless_it_was_answered(receiver: Collector, code: str, failed: bool) -> None:
    told: list[tuple[str, str, str, float]] = []
    tracer = OtlpTracer({})
    report = reporting(lambda *request: told.append(request), tracer)
    report("get", "Lease", code, 0.1)
    span = tracer.begin("rollout pass", {})
    report("get", "Pod", code, 0.1)
    span.end({})
    tracer.close()
    assert [one.failed for one in receiver.spans() if one.name == "get Pod"] == [failed]
    assert len(receiver.spans()) == 2, "outside of a pass there is nothing to belong to"
    assert told == [("get", "Lease", code, 0.1), ("get", "Pod", code, 0.1)]
