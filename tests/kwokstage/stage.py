"""Answers at the addresses of pods that have no containers."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
from collections.abc import Mapping
from typing import Any

import aiohttp
from aiohttp import web

from chaffinch.adapters.pods import AGENT_PORT
from chaffinch.domain.names import COMPONENT_LABEL, REVISION_LABEL, ROLLOUT_LABEL
from kwokstage.api import Api
from kwokstage.evidence import Script, query_app
from kwokstage.workers import plan_in, record_of
from localcluster.settings import PRETENDED_SUBNET

_PODS = f"/api/v1/pods?labelSelector={ROLLOUT_LABEL},{COMPONENT_LABEL}+in+(router,probe)"
_PAUSE_SECONDS = 0.5
_PRETENDED = ipaddress.ip_network(PRETENDED_SUBNET)

Pod = Mapping[str, Any]


class Stage:
    """Everything that answers the operator besides the API server.

    Args:
        api: The API server, as the administrator.
        script: What the routers have counted, and how fast the probed engines are.
    """

    def __init__(self, api: Api, script: Script) -> None:
        self.script = script
        self.prometheus_url = ""
        self._api = api
        self._pods: dict[str, Pod] = {}
        self._sites: dict[str, web.TCPSite] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._prometheus = web.AppRunner(query_app(script), access_log=None, shutdown_timeout=0.2)
        self._in_pods = web.AppRunner(self._app(), access_log=None, shutdown_timeout=0.2)

    async def start(self) -> None:
        """Begin to answer."""
        await self._prometheus.setup()
        await web.TCPSite(self._prometheus, "127.0.0.1", 0).start()
        self.prometheus_url = f"http://127.0.0.1:{self._prometheus.addresses[0][1]}"
        await self._in_pods.setup()
        self._tasks.add(asyncio.create_task(self._watch()))

    async def stop(self) -> None:
        """Answer no more; fails with what ended the watch, should it have ended by itself."""
        for task in self._tasks:
            task.cancel()
        ends = await asyncio.gather(*self._tasks, return_exceptions=True)
        for runner in (self._prometheus, self._in_pods):
            await runner.cleanup()
        for end in ends:
            if isinstance(end, Exception):  # a cancellation is none
                raise end

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/state", self._state)
        app.router.add_get("/result", self._result)
        app.router.add_post("/collected", self._collected)
        return app

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async for event in self._api.watch(_PODS):
                    await self._saw(event["type"], event["object"])
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _saw(self, what: str, pod: Pod) -> None:
        address = str(pod.get("status", {}).get("podIP") or "")
        if what not in {"ADDED", "MODIFIED", "DELETED"} or not _is_pretended(address):
            return
        known = self._pods.get(address)
        if what == "DELETED":
            if known is not None and known["metadata"]["uid"] == pod["metadata"]["uid"]:
                del self._pods[address]
                await self._sites.pop(address).stop()
            return
        self._pods[address] = pod
        if address not in self._sites:
            self._sites[address] = web.TCPSite(self._in_pods, address, AGENT_PORT)
            await self._sites[address].start()
        if "deletionTimestamp" in pod["metadata"] and pod["status"]["phase"] == "Running":
            # As a kubelet does: a Job does not let go of a pod before its end is told.
            self._end(pod, "Failed")

    def _pod(self, request: web.Request) -> Pod:
        """Return the pod that was called: the one whose address the connection came to."""
        assert request.transport is not None
        return self._pods[request.transport.get_extra_info("sockname")[0]]

    async def _state(self, request: web.Request) -> web.Response:
        """Acknowledge the stored route; every arm has Ready endpoints, for the pods never waver."""
        metadata = self._pod(request)["metadata"]
        namespace, rollout = metadata["namespace"], metadata["labels"][ROLLOUT_LABEL]
        if f"{namespace}/{rollout}" in self.script.deaf:
            raise web.HTTPServiceUnavailable
        stored = await self._api.get(f"/api/v1/namespaces/{namespace}/configmaps/{rollout}-router")
        if stored is None:
            raise web.HTTPServiceUnavailable
        route = json.loads(stored["data"]["route.json"])
        weights = {arm["revision"]: arm["weight"] for arm in route["arms"]}
        none_open = dict.fromkeys(weights, 0)
        return web.json_response(
            {"epoch": route["epoch"], "sequence": route["sequence"], "weights": weights, "open": none_open}
        )

    async def _result(self, request: web.Request) -> web.Response:
        pod = self._pod(request)
        revision = pod["metadata"]["labels"][REVISION_LABEL]
        if revision in self.script.busy:
            return web.json_response({"stage": "", "requests": 0}, status=503)
        seconds = self.script.latency(revision)
        return web.Response(text=record_of(plan_in(pod), seconds).to_json(), content_type="application/json")

    async def _collected(self, request: web.Request) -> web.Response:
        """End as the worker does: its container exits with 0."""
        self._end(self._pod(request), "Succeeded")
        return web.Response(status=204)

    def _end(self, pod: Pod, phase: str) -> None:
        """Let a pod come to its end; nobody waits for that."""
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
        ended = asyncio.create_task(self._api.merge(path, {"status": {"phase": phase}}))
        self._tasks.add(ended)
        ended.add_done_callback(self._tasks.discard)


def _is_pretended(address: str) -> bool:
    """Say whether nobody else answers at an address: pods of the real node have their own containers."""
    return bool(address) and ipaddress.ip_address(address) in _PRETENDED
