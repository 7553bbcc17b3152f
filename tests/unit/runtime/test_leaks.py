"""What others say to the operator goes nowhere: sown in every answer, looked for in all that it shows."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import generate_latest

from chaffinch.adapters.agents import AgentRouters
from chaffinch.adapters.answers import error_of
from chaffinch.adapters.probe_results import WorkerResults
from chaffinch.adapters.prometheus import PrometheusEvidence
from chaffinch.domain.evidence import NoEvidence
from chaffinch.ports.cluster import ClusterError
from chaffinch.runtime.gather import Gatherer
from chaffinch.runtime.logs import MUTED, JsonFormatter
from fakes.cluster import Key
from fakes.pods import FakePods
from fakes.virtual_time import run
from fakes.workers import ADDRESS
from fakes.world import Shop, rollout
from unit.adapters.fakeprometheus import QUESTION, prometheus, respond
from unit.runtime.benches import SMOKE, bench
from unit.runtime.shops import V2, at_canary, healthy, keep_passing, until

SEED = "seeded: s3cr3t/of=others"
LONG = f"{SEED} " * 200


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Log as in production, at DEBUG; return how to read what was logged."""
    for library in MUTED:
        monkeypatch.setattr(logging.getLogger(library), "level", logging.WARNING)
    root, lines = logging.getLogger(), io.StringIO()
    handler, level = logging.StreamHandler(lines), root.level
    handler.setFormatter(JsonFormatter())
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield lines.getvalue
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def shown_by(shop: Shop) -> str:
    """Return all objects, Events and metrics, without what a user has written."""
    objects = [{**found, "spec": None} for found in shop.cluster.objects.values()]
    events = [note.message for note in shop.recorder.notes]
    return json.dumps([objects, events]) + generate_latest(shop.metrics.registry).decode()


def status_object(reason: str, message: str) -> str:
    causes = [{"field": SEED, "message": SEED}, {"field": f"spec.x[{SEED}]"}, {"field": "spec.replicas"}]
    return json.dumps(
        {"kind": "Status", "reason": reason, "message": message, "details": {"name": SEED, "causes": causes}}
    )


DENIAL = f'admission webhook "{SEED}" denied the request: {LONG}'


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, status_object("BadRequest", DENIAL)),
        (403, status_object("Forbidden", DENIAL)),
        (403, status_object("Forbidden", f"exceeded quota: {LONG}")),
        (403, status_object("Forbidden", LONG)),
        (405, status_object("MethodNotAllowed", DENIAL)),
        (422, status_object("Invalid", DENIAL)),
        (422, status_object("Invalid", LONG)),
        (429, status_object("TooManyRequests", LONG)),
        (500, LONG),
        (502, f"<html>{LONG}</html>"),
    ],
)
@pytest.mark.parametrize("kind", ["Deployment", "ConfigMap", "LoadProbe"])
def test_what_the_api_server_or_a_webhook_says_goes_nowhere(
    logged: Callable[[], str], status: int, body: str, kind: str
) -> None:
    error = error_of(status, body, f"apply {kind} llm/chat")

    async def story() -> Shop:
        shop = await healthy()
        shop.cluster.fault = _fails(kind, error)
        shop.apply(rollout(**V2))
        task = asyncio.create_task(keep_passing(shop))
        await asyncio.sleep(120)
        task.cancel()
        return shop

    shop = run(story())
    seen = shown_by(shop) + logged()
    assert "s3cr3t" not in seen
    assert "chaffinch_" in seen


def _fails(kind: str, error: ClusterError) -> Callable[[str, Key], BaseException | None]:
    return lambda verb, key: error if verb in {"apply", "update", "create"} and key[0] == kind else None


async def _moved(_: web.Request) -> web.StreamResponse:
    return web.Response(
        status=302, text=LONG, headers={"Location": "http://s3cr3t.invalid/", "X-Why": "s3cr3t"}
    )


_SERIES = {"metric": {"__name__": "s3cr3t", "revision": SEED}, "values": [[1, SEED]]}
BAD_REPLIES = {
    "refusal": respond({"status": "error", "errorType": SEED, "error": LONG}, 400),
    "server error": respond(LONG.encode(), 500),
    "page": respond(LONG.encode(), 200, "text/html"),
    "no json": respond(LONG.encode()),
    "error": respond({"status": "error", "errorType": SEED, "error": LONG}),
    "warnings": respond(
        {"status": "success", "warnings": [LONG], "data": {"resultType": "matrix", "result": []}}
    ),
    "type": respond({"status": "success", "data": {"resultType": SEED, "result": []}}),
    "series": respond({"status": "success", "data": {"resultType": "matrix", "result": [_SERIES]}}),
    "redirect": _moved,
}


@pytest.mark.parametrize("kind", BAD_REPLIES)
def test_what_prometheus_says_goes_nowhere(logged: Callable[[], str], kind: str) -> None:
    async def asking() -> object:
        async with prometheus(BAD_REPLIES[kind]) as url:
            source = PrometheusEvidence(url)
            try:
                return await source.live(QUESTION)
            finally:
                await source.aclose()

    answer = asyncio.run(asking())
    assert isinstance(answer, NoEvidence)

    async def story() -> Shop:
        shop = await at_canary()
        shop.evidence.answer = answer
        task = asyncio.create_task(keep_passing(shop))
        await asyncio.sleep(300)
        task.cancel()
        return shop

    shop = run(story())
    assert answer.detail in shown_by(shop)
    assert "s3cr3t" not in shown_by(shop) + logged()


AGENT_ANSWERS: tuple[tuple[int, Any], ...] = (
    (500, LONG),
    (200, LONG),
    (200, {"epoch": SEED, "sequence": 1, "weights": {}}),
    (200, {"epoch": 7, "sequence": 1, "weights": {SEED: 10_000}, "open": {SEED: 3}, "x": SEED}),
)


@pytest.mark.parametrize(("status", "body"), AGENT_ANSWERS)
def test_what_a_router_says_goes_nowhere(logged: Callable[[], str], status: int, body: Any) -> None:  # noqa: ANN401
    async def story() -> tuple[Shop, FakePods]:
        shop = await healthy()
        pods = FakePods(lambda _: (status, _bytes(body)))
        object.__setattr__(shop.world, "gatherer", Gatherer(shop.cluster, AgentRouters(pods)))
        shop.restart()
        shop.apply(rollout(**V2))
        task = asyncio.create_task(keep_passing(shop))
        for _ in range(200):
            shop.obey()
            await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])
        return shop, pods

    shop, pods = run(story())
    assert pods.asked
    assert "s3cr3t" not in shown_by(shop) + logged()


def _bytes(body: object) -> bytes:
    return (body if isinstance(body, str) else json.dumps(body)).encode()


WORKER_ANSWERS: tuple[tuple[int, Any], ...] = (
    (500, LONG),
    (503, {"stage": SEED, "requests": 1}),
    (503, {"stage": "c1", "requests": SEED}),
    (200, LONG),
    (200, {"probeUid": SEED, "attempt": SEED, "stages": [{"name": SEED}], SEED: SEED}),
)


@pytest.mark.parametrize(("status", "body"), WORKER_ANSWERS)
def test_what_a_probe_worker_says_goes_nowhere(logged: Callable[[], str], status: int, body: Any) -> None:  # noqa: ANN401
    async def story() -> tuple[dict[str, Any], str]:
        answer = await WorkerResults(FakePods({ADDRESS: (status, _bytes(body))}.get)).ask(ADDRESS)
        one = await bench(**SMOKE)
        await one.run_to(answer)
        return one.body, shown_by(one.shop)

    body_of_probe, shown = run(story())
    assert body_of_probe["status"]["phase"] == ("Failed" if status == 200 else "Pending")
    assert "s3cr3t" not in json.dumps(body_of_probe) + shown + logged()


def test_values_of_a_users_environment_are_in_no_status_event_line_or_metric(
    logged: Callable[[], str],
) -> None:
    async def story() -> Shop:
        shop = Shop()
        env = [
            {"name": "CLEAR", "value": SEED},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        ]
        shop.apply(rollout(engine={"image": "engine:1", "env": env}))
        await until(shop, lambda: shop.status.get("phase") == "Healthy")
        return shop

    shop = run(story())
    events = [note.message for note in shop.recorder.notes]
    metrics = generate_latest(shop.metrics.registry).decode()
    assert "s3cr3t" not in json.dumps([shop.status, events]) + metrics + logged()
    assert {key[0] for _, key in shop.cluster.requests} & {"Secret"} == set()
