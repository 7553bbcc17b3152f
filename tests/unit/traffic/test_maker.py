"""Traffic against the simulator and against servers that misbehave, over loopback."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from simulator.faults import ErrorKind, Faults
from traffic.__main__ import main
from traffic.client import Sender, open_session
from traffic.maker import TrafficMaker
from traffic.profile import Profile, plan
from unit.simulator.harness import FAST, sample, served

TESTS = Path(__file__).parents[2]


def profile(root: object, **changes: Any) -> Profile:  # noqa: ANN401 - one helper for all fields
    few = {"rate": 200.0, "seconds": 10.0, "max_requests": 20, "max_tokens": 4, "timeout": 5.0}
    return Profile(**{"url": str(root), "model": "chat", **few, **changes})


async def run(root: object, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    return (await TrafficMaker(profile(root, **changes)).run()).to_json()


async def test_a_sound_service_fails_nobody() -> None:
    async with served() as server:
        summary = await run(server.make_url("/"))
    assert (summary["requests"], summary["failed"], summary["tokens"]) == (20, 0, 80)
    assert 0 < summary["ttft"]["p50"] <= summary["e2e"]["p50"] < 5
    assert sum(second["requests"] for second in summary["perSecond"]) == 20


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        (ErrorKind.HTTP_500, "http5xx"),
        (ErrorKind.NOT_FOUND, "http4xx"),
        (ErrorKind.TOO_MANY, "http4xx"),
        (ErrorKind.REFUSED, "refused"),
        (ErrorKind.CUT, "cut"),
        (ErrorKind.IN_BAND, "inband"),
    ],
)
async def test_each_fault_of_the_simulator_is_seen_for_what_it_is(kind: ErrorKind, want: str) -> None:
    async with served(faults=Faults(error_shares={kind: 1.0})) as server:
        summary = await run(server.make_url("/"))
    assert summary["failures"] == {want: 20}
    assert summary["e2e"] == {"p50": None, "p95": None, "p99": None}


async def test_failures_are_counted_as_the_server_counted_them() -> None:
    faults = Faults(error_shares={ErrorKind.CUT: 0.2, ErrorKind.HTTP_500: 0.2})
    # Slow enough that no answer is complete in the engine before its cut reaches the client.
    slow = replace(FAST, latency=replace(FAST.latency, itl=0.05))
    async with served(slow, faults) as server:
        summary = await run(server.make_url("/"), seed=5, max_requests=60)
        async with ClientSession() as session, session.get(server.make_url("/metrics")) as reply:
            page = await reply.text()
    failures = summary["failures"]
    assert failures["http5xx"] == sample(
        page, 'http_requests_total{handler="/v1/chat/completions",method="POST",status="5xx"'
    )
    finished = sample(page, 'vllm:request_success_total{engine="0",finished_reason="length"')
    assert failures == {"cut": 60 - failures["http5xx"] - finished, "http5xx": failures["http5xx"]}
    assert min(failures.values()) > 3


async def test_nobody_listening_is_refused() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        summary = await run(f"http://127.0.0.1:{bound.getsockname()[1]}", max_requests=3)
    assert summary["failures"] == {"refused": 3}


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def answering(handler: Handler) -> AsyncIterator[TestServer]:
    application = web.Application()
    application.router.add_post("/v1/chat/completions", handler)
    server = TestServer(application)
    await server.start_server()
    try:
        yield server
    finally:
        await server.close()


def events(*bodies: object) -> str:
    return "".join(f"data: {body if isinstance(body, str) else json.dumps(body)}\n\n" for body in bodies)


def chunk(text: str, finish_reason: str | None = None) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}]}


@pytest.mark.parametrize(
    ("text", "content_type", "want"),
    [
        (events(chunk("a", "stop"), "[DONE]"), "text/event-stream", {}),
        (events(chunk("a", "stop")), "text/event-stream", {}),
        (events(chunk("a")), "text/event-stream", {"cut": 1}),
        (events(chunk("", "stop"), "[DONE]"), "text/event-stream", {"empty": 1}),
        ("", "text/event-stream", {"cut": 1}),
        (events(chunk("a"), {"error": "boom"}, "[DONE]"), "text/event-stream", {"inband": 1}),
        ('{"error": {"message": "boom"}}', "application/json", {"inband": 1}),
        ('{"choices": []}', "application/json", {"other": 1}),
        ("<html>", "text/html", {"other": 1}),
    ],
)
async def test_a_reply_of_status_200_is_no_success_by_itself(
    text: str, content_type: str, want: dict[str, int]
) -> None:
    async def handler(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=text, content_type=content_type)

    async with answering(handler) as server:
        assert (await run(server.make_url("/"), max_requests=1))["failures"] == want


@pytest.mark.parametrize(
    ("text", "want"),
    [(events(chunk("a", "stop")), {"cut": 1}), (events(chunk("a", "stop"), "[DONE]"), {})],
    ids=["before it said that it was over", "after"],
)
async def test_a_connection_that_breaks_harms_an_answer_until_that_is_over(
    text: str, want: dict[str, int]
) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(text.encode())
        await asyncio.sleep(0.1)
        assert request.transport is not None
        request.transport.abort()
        return response

    async with answering(handler) as server:
        assert (await run(server.make_url("/"), max_requests=1))["failures"] == want


async def test_a_redirect_is_no_answer() -> None:
    async def handler(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with answering(handler) as server:
        assert (await run(server.make_url("/"), max_requests=1))["failures"] == {"other": 1}


@pytest.mark.parametrize("begin", [False, True], ids=["before the reply", "in mid-stream"])
async def test_a_service_that_hangs_times_out(begin: bool) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if begin:
            await response.prepare(request)
            await response.write(events(chunk("a")).encode())
        await asyncio.sleep(30)
        return response

    async with answering(handler) as server:
        summary = await run(server.make_url("/"), max_requests=2, timeout=0.3)
    assert summary["failures"] == {"timeout": 2}
    assert summary["tokens"] == (2 if begin else 0)


async def test_the_revision_that_answered_is_told_by_its_header() -> None:
    numbers = iter(range(100))

    async def handler(_request: web.Request) -> web.StreamResponse:
        canary = next(numbers) % 4 == 0
        headers = {"x-chaffinch-revision": "bbbb2222" if canary else "aaaa1111"}
        if canary:
            return web.Response(status=503, headers=headers)
        text = events(chunk("a", "stop"), "[DONE]")
        return web.Response(text=text, content_type="text/event-stream", headers=headers)

    async with answering(handler) as server:
        summary = (await TrafficMaker(profile(server.make_url("/"))).run()).to_json(["bbbb2222"])
    counts = {name: (tally["requests"], tally["failed"]) for name, tally in summary["revisions"].items()}
    assert counts == {"aaaa1111": (15, 0), "bbbb2222": (5, 5)}
    assert (summary["failed"], summary["failedOnStable"]) == (5, 0)


async def test_latencies_count_from_when_a_request_was_due_however_late_it_was_sent() -> None:
    request = next(iter(plan(profile("http://x"))))
    async with served() as server, open_session(5) as session:
        endpoint = profile(server.make_url("/")).endpoint
        outcome = await Sender(session, endpoint, lambda: 7.0).send(request)
    assert (outcome.at, outcome.failure, outcome.ttft, outcome.e2e) == (0.0, None, 7.0, 7.0)


async def test_a_load_that_the_service_cannot_carry_is_bounded_and_said() -> None:
    slow = replace(FAST, latency=replace(FAST.latency, ttft=0.5))
    async with served(slow) as server:
        summary = await run(server.make_url("/"), concurrency=3, max_requests=30)
    assert (summary["requests"], summary["skipped"], summary["failed"]) == (3, 27, 0)


async def test_a_stopped_run_lets_what_is_under_way_end() -> None:
    slow = replace(FAST, latency=replace(FAST.latency, ttft=0.4))
    async with served(slow) as server:
        maker = TrafficMaker(profile(server.make_url("/"), rate=100.0, max_requests=None))
        asyncio.get_running_loop().call_later(0.2, maker.stop)
        summary = (await maker.run()).to_json()
    assert 5 <= summary["requests"] <= 60
    assert (summary["failed"], summary["abandoned"]) == (0, 0)


async def test_the_program_writes_while_it_runs_and_once_more_on_sigterm(tmp_path: Path) -> None:
    out = tmp_path / "users.json"
    async with served() as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "traffic", "--url", str(server.make_url("/")), "--model", "chat",
            "--rate", "50", "--seconds", "600", "--max-tokens", "3", "--seed", "4", "--out", str(out),
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )  # fmt: skip
        for _ in range(500):
            if out.exists() and json.loads(out.read_text())["requests"] > 0:
                break
            await asyncio.sleep(0.02)
        running = json.loads(out.read_text())
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 20) == 0
    final = json.loads(out.read_text())
    assert (running["finished"], final["finished"], final["seed"]) == (False, True, 4)
    assert final["requests"] >= running["requests"] > 0
    assert final["failed"] == 0
    assert not out.with_name("users.json.partial").exists()


@pytest.mark.parametrize(
    ("changes", "want_message"),
    [
        (["--rate", "0"], "rate: 0.0 is not a finite number above 0"),
        (["--prompt-words", "a:b"], "--prompt-words: 'a:b' is not of the form WORDS[:WEIGHT]"),
        (["--out", "/nowhere/at/all.json"], "--out: there is no folder /nowhere/at"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_field_and_the_rule(
    changes: list[str], want_message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sound = [
        "--url",
        "http://x",
        "--model",
        "m",
        "--rate",
        "1",
        "--seconds",
        "1",
        "--out",
        str(tmp_path / "o"),
    ]
    with pytest.raises(SystemExit) as exit_:
        main([*sound, *changes])
    assert exit_.value.code == 2
    assert want_message in capsys.readouterr().err
