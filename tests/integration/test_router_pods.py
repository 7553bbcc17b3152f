"""The router on a real cluster: admitted under `restricted`, ready, serving, acknowledging, draining."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from chaffinch.domain.names import RolloutIdentity, child_labels
from chaffinch.routing.envoy import route_config_map, router_manifests
from chaffinch.routing.route import Arm, Route
from chaffinch.routing.settings import RouterSettings
from localcluster.fixtures import Kubectl, eventually

pytestmark = pytest.mark.cluster

IMAGE = "localhost/chaffinch:dev"
SETTINGS = RouterSettings(agent_image=IMAGE, envoy_image="localhost/envoy:dev", drain_seconds=60)
STABLE, CANARY = "58be2000", "7c9f1000"

ENGINE = """
import asyncio
from aiohttp import web

async def answer(request):
    await request.read()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await asyncio.sleep(0.1)
    await response.write(b"data: {}\\n\\n")
    await asyncio.sleep(float(request.query.get("more", 0)))
    await response.write(b"data: [DONE]\\n\\n")
    return response

app = web.Application()
app.router.add_post("/{path:.*}", answer)
web.run_app(app, port=8000, print=None)
"""


def engine(revision: str) -> list[dict[str, Any]]:
    """Return a stand-in for a revision: a Deployment of one pod and its headless Service."""
    labels = {"chaffinch.dev/rollout": "chat", "chaffinch.dev/revision": revision}
    locked = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {
        "name": "engine",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-c", ENGINE],
        "securityContext": locked,
        "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
        "lifecycle": {"preStop": {"sleep": {"seconds": 3}}},
    }
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "securityContext": security},
    }
    metadata = {"name": f"chat-{revision}", "labels": child_labels("chat", "engine", revision)}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"clusterIP": "None", "selector": labels, "ports": [{"name": "http", "port": 8000}]},
        },
    ]


def without_owner(manifest: dict[str, Any]) -> dict[str, Any]:
    """Drop the owner, which does not exist here: the garbage collector would act on it."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "ownerReferences"}
    return {**manifest, "metadata": metadata}


class Router:
    """The router of one rollout in a namespace."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl
        self.rollout = RolloutIdentity(kubectl.namespace, "chat", "u-1")
        self.sequence = 0

    def start(self) -> None:
        self.kubectl.apply(*map(without_owner, router_manifests(self.rollout, SETTINGS)))

    def route(self, stable: int, canary: int) -> tuple[int, int]:
        self.sequence += 1
        arms = (Arm(revision=STABLE, weight=stable), Arm(revision=CANARY, weight=canary))
        route = Route(
            rollout_namespace=self.rollout.namespace,
            rollout="chat",
            rollout_uid="u-1",
            epoch=1,
            sequence=self.sequence,
            attempt=1,
            arms=arms,
        )
        self.kubectl.apply(without_owner(route_config_map(self.rollout, route)))
        return route.order

    def pods(self) -> list[dict[str, Any]]:
        found = self.kubectl.get("pods", "-l", "app.kubernetes.io/component=router")
        return [pod for pod in found["items"] if "deletionTimestamp" not in pod["metadata"]]

    def ready_addresses(self) -> list[str]:
        ready = [pod for pod in self.pods() if _is_ready(pod)]
        return [pod["status"]["podIP"] for pod in ready]

    async def states(self) -> list[dict[str, Any]]:
        async with aiohttp.ClientSession() as session:
            return [
                await _json(session, f"http://{address}:9090/state") for address in self.ready_addresses()
            ]

    async def acknowledged(self, order: tuple[int, int], weights: dict[str, int]) -> None:
        for _ in range(100):
            states = await self.states()
            if len(states) == 2 and all(
                (s["epoch"], s["sequence"], s["weights"]) == (*order, weights) for s in states
            ):
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"not acknowledged: {states}")

    @property
    def url(self) -> str:
        return f"http://chat.{self.rollout.namespace}.svc.cluster.local/v1/chat/completions"


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


async def _json(session: aiohttp.ClientSession, url: str) -> Any:  # noqa: ANN401 - foreign JSON
    async with session.get(url) as answer:
        return json.loads(await answer.text())


async def _post(session: aiohttp.ClientSession, url: str) -> str:
    async with session.post(url, data=b"{}") as answer:
        assert answer.status == 200, await answer.text()
        await answer.read()
        return answer.headers["x-chaffinch-revision"]


async def test_a_router_serves_switches_drops_and_drains_on_a_real_cluster(kubectl: Kubectl) -> None:
    kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
    kubectl.apply(*engine(STABLE), *engine(CANARY))
    router = Router(kubectl)
    router.start()
    first = router.route(10_000, 0)
    for revision in (STABLE, CANARY):
        kubectl("rollout", "status", f"deployment/chat-{revision}", timeout=90)
    eventually(lambda: len(router.ready_addresses()) == 2, 60, "both routers are Ready")
    await router.acknowledged(first, {STABLE: 10_000, CANARY: 0})

    async with aiohttp.ClientSession() as session:
        assert {await _post(session, router.url) for _ in range(10)} == {STABLE}
        await router.acknowledged(router.route(0, 10_000), {STABLE: 0, CANARY: 10_000})
        assert {await _post(session, router.url) for _ in range(10)} == {CANARY}

        await router.acknowledged(router.route(5_000, 5_000), {STABLE: 5_000, CANARY: 5_000})
        kubectl("scale", "deployment", f"chat-{CANARY}", "--replicas=0")
        await router.acknowledged((1, router.sequence), {STABLE: 10_000, CANARY: 0})
        assert {await _post(session, router.url) for _ in range(20)} == {STABLE}

        # A stream through a router that is told to end is not cut, and the users of the other see nothing.
        streams = [await session.post(f"{router.url}?more=8", data=b"{}") for _ in range(6)]
        doomed = router.pods()[0]["metadata"]["name"]
        kubectl("delete", "pod", doomed, "--wait=false")
        assert [await _post(session, router.url) for _ in range(20)] == [STABLE] * 20
        assert [await stream.text() for stream in streams] == ["data: {}\n\ndata: [DONE]\n\n"] * 6

    def gone() -> bool:
        found = kubectl.get("pods", "-l", "app.kubernetes.io/component=router")
        return doomed not in [pod["metadata"]["name"] for pod in found["items"]]

    eventually(gone, 30, "the router pod has ended by itself")
