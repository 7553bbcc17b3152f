"""The agent's process against a stand-in for the API server, before there is an Envoy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from routerstage.apiserver import FakeApiServer, listening
from routerstage.stage import CANARY, STABLE, UID, Stage, until


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with listening(FakeApiServer()) as api:
        yield Stage(run=tmp_path, api=api)


async def ask(stage: Stage, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{stage.agent_port}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def test_an_agent_is_ready_once_it_has_a_route_and_exports_zeros_for_its_arms(stage: Stage) -> None:
    async with stage.agent():
        assert await ask(stage, "/healthz") == (200, "ok\n")
        assert (await ask(stage, "/readyz"))[0] == 503
        assert (await ask(stage, "/state"))[0] == 503
        assert json.loads(stage.settings.paths.bootstrap.read_text())["node"]["id"] == "chat-router-0"

        await stage.put_route(stage.route({STABLE: 9_000, CANARY: 1_000}))

        async def ready() -> bool:
            return (await ask(stage, "/readyz"))[0] == 200

        await until(ready, "the agent is ready")
        state = await stage.state() or {}
        assert {**state, "appliedAt": None} == {
            "epoch": 1,
            "sequence": 1,
            "appliedAt": None,
            "weights": {STABLE: 9_000, CANARY: 1_000},
            "endpoints": {STABLE: 0, CANARY: 0},
            "open": {STABLE: 0, CANARY: 0},
        }
        lines = (await ask(stage, "/metrics"))[1].splitlines()
    for revision in (STABLE, CANARY):
        labels = (
            f'rollout_namespace="llm",rollout="chat",rollout_uid="{UID}",agent="chat-router-0-s1",'
            f'revision="{revision}",attempt="3"'
        )
        assert f'chaffinch_router_requests_total{{{labels},outcome="ok"}} 0' in lines
        assert f"chaffinch_router_ttft_seconds_count{{{labels}}} 0" in lines


@pytest.mark.parametrize("text", ["", "{}", "epoch: 1"])
async def test_an_unreadable_route_is_refused_and_counted(stage: Stage, text: str) -> None:
    async with stage.agent() as views:
        await stage.api.put("configmaps", "chat-router", {"data": {"route.json": text}})

        async def refused() -> bool:
            return views.keeper.refused == {"it is not valid": 1}

        await until(refused, "the route is refused")
        assert (await ask(stage, "/readyz"))[0] == 503
        metrics = (await ask(stage, "/metrics"))[1]
    assert 'agent="chat-router-0-s1",reason="it is not valid"} 1' in metrics
