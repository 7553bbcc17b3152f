from __future__ import annotations

import asyncio

from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from chaffinch.adapters.clock import SystemClock
from chaffinch.runtime.baseline_export import BaselineExport
from chaffinch.runtime.health import Health
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.web import health_app, metrics_app
from fakes.baselines import baseline_object

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def _scrape(metrics: Metrics) -> Samples:
    async def story() -> str:
        async with TestClient(TestServer(metrics_app(metrics.registry))) as client:
            answer = await client.get("/metrics")
            assert answer.status == 200
            return await answer.text()

    families = text_string_to_metric_families(asyncio.run(story()))
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def _of(samples: Samples, name: str) -> Samples:
    return {key: value for key, value in samples.items() if key[0] == name}


def test_requests_and_passes_are_counted() -> None:
    metrics = Metrics()
    metrics.request("get", "Pod", "404", 0.01)
    metrics.request("get", "Pod", "404", 0.02)
    metrics.had_pass("rollout", failed=True, seconds=1)
    samples = _scrape(metrics)
    requests = (("code", "404"), ("kind", "Pod"), ("verb", "get"))
    assert samples["chaffinch_kubernetes_requests_total", requests] == 2
    assert samples["chaffinch_passes_total", (("kind", "rollout"), ("outcome", "failed"))] == 1


def test_the_lease_is_asked_at_each_scrape() -> None:
    metrics = Metrics()
    left = [7.5]
    metrics.follow_lease(lambda: left[0], lambda: 42.0)
    assert _scrape(metrics)["chaffinch_lease_seconds_left", ()] == 7.5
    left[0] = -3
    samples = _scrape(metrics)
    assert (samples["chaffinch_lease_seconds_left", ()], samples["chaffinch_lease_epoch", ()]) == (0.0, 42.0)


def test_a_baseline_is_exported_in_seconds_under_its_version() -> None:
    metrics = Metrics()
    export = BaselineExport(metrics)
    body = baseline_object("chat-base", "v1", seconds=0.2)
    export.saw(body, deleted=False)
    samples = _of(_scrape(metrics), "chaffinch_baseline_latency_seconds")
    identity = (("baseline", "chat-base"), ("baseline_namespace", "shop"), ("baseline_version", "v1"))
    name = "chaffinch_baseline_latency_seconds"
    assert 0.2 <= samples[name, (*identity, ("metric", "ttft"), ("quantile", "p95"))] < 0.21
    assert {dict(key[1])["quantile"] for key in samples} == {"p50", "p90", "p95", "p99"}
    assert _scrape(metrics)["chaffinch_baseline_error_ratio", identity] == 0.0
    export.saw(body, deleted=True)
    assert not _of(_scrape(metrics), name)


def test_a_baseline_that_was_tampered_with_disappears() -> None:
    metrics = Metrics()
    export = BaselineExport(metrics)
    body = baseline_object("chat-base", "v1", seconds=0.2)
    export.saw(body, deleted=False)
    body["spec"]["stages"][0]["requests"] += 1
    export.saw(body, deleted=False)
    assert not _of(_scrape(metrics), "chaffinch_baseline_latency_seconds")


def test_the_kubelet_is_answered_by_status_code() -> None:
    async def story() -> list[int]:
        health, left = Health(SystemClock(), longest_pass=60), [1.0]
        async with TestClient(TestServer(health_app(health, lambda: left[0]))) as client:
            codes = [(await client.get(path)).status for path in ("/healthz", "/readyz")]
            health.started = health.leading = True
            codes += [(await client.get(path)).status for path in ("/healthz", "/readyz")]
            left[0] = 0.0
            codes += [(await client.get("/healthz")).status]
        return codes

    assert asyncio.run(story()) == [200, 503, 200, 200, 503]
