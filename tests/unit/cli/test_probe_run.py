"""``chaffinch probe run`` against a small engine, in a thread beside the command's own event loop."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import pytest
from aiohttp import web

from chaffinch.cli import main
from chaffinch.cli.probe import RESULT
from chaffinch.probe.result import parse_record
from unit.probe.fakeengine import FakeEngine, no_fault

PROFILE = """\
kind: ProbeProfile
metadata: {name: tiny}
spec:
  warmUp: {requests: 2, concurrency: 2}
  stages: [{name: gate, concurrency: 8, requests: REQUESTS, timeout: 60s}]
  gateStage: gate
  prompt: {tokens: 4}
  output: {tokens: 2}
  requestTimeout: 20s
"""


async def every_tenth(number: int) -> web.StreamResponse | None:
    return web.Response(status=500) if number % 10 == 0 else None


async def run(folder: Path, *, requests: int, fault: object = no_fault, file: str | None = None) -> int:
    profile = folder / "profile.yaml"
    profile.write_text(PROFILE.replace("REQUESTS", str(requests)))
    assert callable(fault)
    async with FakeEngine(ttft=0.05, fault=fault) as engine:
        arguments = ["probe", "run", "--url", engine.url + "/", "--model", "m", "--profile", str(profile)]
        return await asyncio.to_thread(
            main, [*arguments, *(["--output=json", "--file", file] if file else [])]
        )


async def test_a_run_prints_a_table_and_writes_the_whole_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    code = await run(tmp_path, requests=160, file=str(out))
    body = json.loads(out.read_text())
    record = parse_record(out.read_text().strip(), probe_uid=body["probeUid"], attempt=1)
    assert (record.stages[0].requests, record.stages[0].errors) == (160, 0)
    assert set(body) == set(RESULT.keys)
    assert code == (0 if record.stages[0].self_check.passed else 3)
    shown = capsys.readouterr()
    gate = shown.err.splitlines()[1].split()
    assert gate[:4] == ["gate*", "8", "160", "0"]
    assert shown.out == ""


async def test_too_few_requests_are_not_enough_evidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await run(tmp_path, requests=24) == 3
    assert "evidence" in capsys.readouterr().out


async def test_a_server_that_fails_one_request_in_ten_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    code = await run(tmp_path, requests=160, fault=every_tenth, file=str(out))
    passed = json.loads(out.read_text())["stages"][0]["selfCheck"]["passed"]
    assert code == (1 if passed else 3)
    assert "gate: failed: error_5xx 16" in capsys.readouterr().err


async def test_nobody_listening_is_no_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    assert await asyncio.to_thread(main, ["probe", "run", "--url", url, "--model", "m"]) == 3
    shown = capsys.readouterr().out
    assert "ended early: 20 requests in a row failed" in shown
    assert "failed: error_refused 2" in shown


WRONG = {
    "an address with a path": (["--url", "http://x:1/v1", "--model", "m"], "targets.0"),
    "a profile that is no file": (
        ["--url", "http://x:1", "--model", "m", "--profile", "fast"],
        "fast: cannot",
    ),
    "a model with a blank": (["--url", "http://x:1", "--model", "a b"], "model: String should match"),
}


@pytest.mark.parametrize(("arguments", "want"), WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], want: str
) -> None:
    assert main(["probe", "run", *arguments]) in {1, 2}
    assert capsys.readouterr().err.startswith(f"error: {want}")
