"""The worker as a process: what it serves, when it goes, and with which exit code."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from chaffinch.api.v1alpha1.profile import Output, Prompt, Stage
from chaffinch.probe.plan import ProbePlan
from chaffinch.probe.result import parse_record
from loopback import free_port
from unit.probe.fakeengine import FakeEngine

OPERATOR = Path(__file__).parents[3] / "operator"
DEADLINE = 60


def plan_for(engine: FakeEngine, requests: int = 8) -> str:
    return ProbePlan(
        probe_uid="uid-1",
        targets=(engine.url,),
        model="chat",
        stages=(Stage(name="gate", concurrency=2, requests=requests, timeout="60s"),),
        gate_stage="gate",
        prompt=Prompt(tokens=5),
        output=Output(tokens=2),
        request_timeout="20s",
    ).to_json()


@asynccontextmanager
async def worker(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "chaffinch.probe",
        *arguments,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(OPERATOR)},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    async with asyncio.timeout(DEADLINE):
        _, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, errors.decode()


async def get_until(url: str, status: int) -> str:
    async with asyncio.timeout(DEADLINE), aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(url) as response:
                    if response.status == status:
                        return await response.text()
            except aiohttp.ClientConnectionError:
                pass  # it has not begun to listen
            await asyncio.sleep(0.05)


async def post(url: str) -> int:
    async with aiohttp.ClientSession() as session, session.post(url) as response:
        return response.status


async def test_a_result_is_served_until_it_was_collected() -> None:
    asked, gate = asyncio.Event(), asyncio.Event()

    async def wait(_: int) -> web.StreamResponse | None:
        asked.set()
        await gate.wait()
        return None

    port = free_port()
    base = f"http://127.0.0.1:{port}"
    async with (
        FakeEngine(fault=wait) as engine,
        worker("--plan", plan_for(engine), "--port", str(port)) as process,
    ):
        async with asyncio.timeout(DEADLINE):
            await asked.wait()
        assert json.loads(await get_until(f"{base}/result", 503)) == {"stage": "gate", "requests": 0}
        assert await post(f"{base}/collected") == 409, "there is nothing to collect yet"
        gate.set()
        record = parse_record(await get_until(f"{base}/result", 200), probe_uid="uid-1", attempt=1)
        assert [(stage.name, stage.requests) for stage in record.stages] == [("gate", 8)]
        assert json.loads(await get_until(f"{base}/progress", 200)) == {"stage": "gate", "requests": 8}
        assert "chaffinch_probe_finished 1.0" in await get_until(f"{base}/metrics", 200)
        assert process.returncode is None
        assert await post(f"{base}/collected") == 204
        assert (await ended(process))[0] == 0


async def test_an_uncollected_result_does_not_wait_for_ever() -> None:
    async with (
        FakeEngine() as engine,
        worker("--plan", plan_for(engine), "--port", str(free_port()), "--collect-seconds", "1") as process,
    ):
        code, errors = await ended(process)
    assert code == 0
    assert "nobody collected the result in 1 s" in errors


async def test_sigterm_ends_it_at_once_with_no_result() -> None:
    port = free_port()
    async with (
        FakeEngine(ttft=30) as engine,
        worker("--plan", plan_for(engine), "--port", str(port)) as process,
    ):
        await get_until(f"http://127.0.0.1:{port}/result", 503)
        process.send_signal(signal.SIGTERM)
        assert (await ended(process))[0] == 143


WRONG_PLANS = {
    "{": "error: --plan: plan: Invalid JSON",
    '{"probeUid": "u", "model": "m"}': "error: --plan: targets: Field required",
    json.dumps(
        {
            "probeUid": "u",
            "model": "m",
            "targets": ["http://127.0.0.1:1/v1"],
            "prompt": {"tokens": 1},
            "output": {"tokens": 1},
            "requestTimeout": "1s",
        }
    ): "error: --plan: targets.0: String should match pattern",
}


@pytest.mark.parametrize(("plan", "want"), WRONG_PLANS.items())
async def test_a_wrong_plan_is_refused_with_the_field(plan: str, want: str) -> None:
    async with worker("--plan", plan) as process:
        code, errors = await ended(process)
    assert code == 2
    assert errors.startswith(want)


async def test_a_port_in_use_is_a_clear_failure() -> None:
    async with FakeEngine() as engine:
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            port = taken.getsockname()[1]
            async with worker("--plan", plan_for(engine), "--port", str(port)) as process:
                code, errors = await ended(process)
    assert code == 1
    assert f"cannot listen on port {port}" in errors
