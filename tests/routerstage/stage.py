"""Puts a router together on loopback and says what it does."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from chaffinch.agent.kube import ApiServer
from chaffinch.agent.process import LOG_LIMIT_BYTES, running
from chaffinch.agent.settings import AgentSettings
from chaffinch.agent.web import Views
from chaffinch.domain.block_vector import BlockVector
from chaffinch.routing.route import ROUTE_KEY, Arm, Edges, Route, route_json
from loopback import free_port
from routerstage.apiserver import FakeApiServer
from routerstage.upstream import Upstream

ATTEMPT = 3
STABLE, CANARY = "aaaaaaaa", "bbbbbbbb"
UID = "0b5c9c1e-0000-4000-8000-000000000001"
ALL_EDGES = Edges(ttft=tuple(range(547)), e2e=tuple(range(547)))


def envoy_program() -> str | None:
    """Return the path of Envoy, from the Python environment or PATH; None if there is none."""
    return shutil.which("envoy", path=str(Path(sys.executable).parent)) or shutil.which("envoy")


async def until(holds: Callable[[], Awaitable[bool]], what: str, seconds: float = 20) -> float:
    """Wait until something holds; return how long it took in seconds."""
    begin = time.monotonic()
    while not await holds():
        if time.monotonic() - begin > seconds:
            raise AssertionError(f"not within {seconds} s: {what}")
        await asyncio.sleep(0.02)
    return time.monotonic() - begin


@dataclass(slots=True)
class Clock:
    """The wall clock, moved: the agent starts a little in the past and is then sent to the future."""

    offset: float = -20

    def __call__(self) -> float:
        """Return the moved time in Unix seconds."""
        return time.time() + self.offset


@dataclass(slots=True)
class Stage:
    """One router with all that belongs to it."""

    run: Path
    api: FakeApiServer
    clock: Clock = field(default_factory=Clock)
    traffic_port: int = field(default_factory=free_port)
    agent_port: int = field(default_factory=free_port)
    sequence: int = 0
    envoy: asyncio.subprocess.Process | None = None

    @property
    def settings(self) -> AgentSettings:
        """The agent's settings."""
        return AgentSettings(
            "llm", "chat", UID, "chat-router-0", self.run, self.traffic_port, self.agent_port, 10
        )

    @contextlib.asynccontextmanager
    async def agent(self, log_limit: int = LOG_LIMIT_BYTES) -> AsyncIterator[Views]:
        """Run the agent."""
        server = ApiServer(f"http://127.0.0.1:{self.api.port}", None, None)
        async with running(self.settings, server, "s1", self.clock, log_limit) as views:
            yield views

    async def start_envoy(self) -> None:
        """Start Envoy and wait until it listens."""
        program = envoy_program()
        assert program is not None
        paths = self.settings.paths
        arguments = ["--config-path", str(paths.bootstrap), "--log-level", "error", "--concurrency", "1"]
        flush = ["--disable-hot-restart", "--file-flush-interval-msec", "100"]
        self.envoy = await asyncio.create_subprocess_exec(program, *arguments, *flush)
        await until(self.listens, "Envoy listens")

    async def end_envoy(self, *, kill: bool = False) -> None:
        """End the Envoy that this stage has started."""
        if self.envoy is not None and self.envoy.returncode is None:
            self.envoy.kill() if kill else self.envoy.terminate()
            await self.envoy.wait()

    async def listens(self) -> bool:
        """Say whether Envoy listens."""
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.traffic_port)
        except OSError:
            return False
        writer.close()
        return True

    def route(self, weights: dict[str, int], **changes: object) -> Route:
        """Return the next route."""
        self.sequence += 1
        arms = tuple(Arm(revision=revision, weight=weight) for revision, weight in weights.items())
        values: dict[str, Any] = {
            "rollout_namespace": "llm",
            "rollout": "chat",
            "rollout_uid": UID,
            "epoch": 1,
            "sequence": self.sequence,
            "attempt": ATTEMPT,
            "stable": STABLE,
            "arms": arms,
            "edges": ALL_EDGES,
        }
        return Route(**(values | changes))

    async def put_route(self, route: Route) -> None:
        """Store a route in the ConfigMap."""
        await self.api.put("configmaps", "chat-router", {"data": {ROUTE_KEY: route_json(route)}})

    async def set_weights(self, weights: dict[str, int]) -> float:
        """Store a route and wait until it is acknowledged; return how long that took in seconds."""
        route = self.route(weights)
        await self.put_route(route)

        async def acknowledged() -> bool:
            state = await self.state()
            return state is not None and (state["epoch"], state["sequence"]) == route.order

        return await until(acknowledged, "the route is acknowledged")

    async def put_pods(self, revision: str, pods: dict[str, Upstream]) -> None:
        """Store the EndpointSlices of a revision: one slice per pod, since ports differ here."""
        for pod, upstream in pods.items():
            await self.api.put(
                "endpointslices", f"chat-{revision}-{pod}", _slice(revision, pod, upstream.port)
            )

    async def remove_pod(self, revision: str, pod: str) -> None:
        """Delete the EndpointSlice of a pod."""
        await self.api.delete("endpointslices", f"chat-{revision}-{pod}")

    async def state(self) -> dict[str, Any] | None:
        """Ask the agent for its state."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.agent_port}/state") as answer,
        ):
            return await answer.json() if answer.status == 200 else None

    def url(self, do: str, **query: object) -> str:
        """Return the address of a behaviour behind the router."""
        more = "".join(f"&{name}={value}" for name, value in query.items())
        return f"http://127.0.0.1:{self.traffic_port}/v1/chat/completions?do={do}{more}"

    async def counted(self, views: Views, requests: int) -> dict[str, BlockVector]:
        """Wait until so many requests have been read, then let all blocks mature; return the vectors."""
        blocks = views.counter.blocks

        async def all_read() -> bool:
            await views.counter.count()
            pending = blocks._pending.values()
            seen = sum(sum(counts.outcomes) for arms in pending for counts in arms.values())
            return seen >= requests and blocks.open_requests == 0

        await until(all_read, f"{requests} requests are in the log")
        self.clock.offset = 100
        await views.counter.count()
        return {arm.revision: vector for arm, vector in blocks.vectors()}


def _slice(revision: str, pod: str, port: int) -> dict[str, Any]:
    target = {"kind": "Pod", "name": pod}
    return {
        "metadata": {
            "labels": {"kubernetes.io/service-name": f"chat-{revision}", "chaffinch.dev/rollout": "chat"}
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}, "targetRef": target}],
    }
