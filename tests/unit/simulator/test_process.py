"""The process as Kubernetes meets it: exit codes, signals, ports that open late."""

import asyncio
import os
import signal
import socket
import time
from pathlib import Path

import aiohttp
import pytest

from unit.simulator.processes import healthy, simulator


async def test_a_wrong_argument_ends_the_process_with_code_2() -> None:
    async with simulator("--max-sequences 3") as (process, _):
        _, message = await process.communicate()
    assert process.returncode == 2
    assert b"vllm serve: error: unrecognized arguments: --max-sequences 3" in message


async def test_crash_at_start_exits_with_code_1_without_opening_the_port() -> None:
    async with simulator("--sim-crash-at-start") as (process, _):
        _, message = await process.communicate()
    assert process.returncode == 1
    assert message.startswith(b"simulator: EngineCore failed to start")


async def test_memory_for_weights_is_really_taken() -> None:
    async with simulator("--sim-memory-mib 96") as (process, root), aiohttp.ClientSession() as session:
        await healthy(session, root)
        taken = resident(process.pid)
    assert taken > 96 << 20


def resident(process: int) -> int:
    pages = Path(f"/proc/{process}/statm").read_text().split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_a_slow_start_refuses_connections_and_then_serves() -> None:
    started = time.monotonic()
    async with simulator("--sim-start-delay 1.5") as (_, root), aiohttp.ClientSession() as session:
        await healthy(session, root)
    assert time.monotonic() - started > 1.5


async def test_sigterm_during_a_slow_start_ends_the_process_at_once() -> None:
    async with simulator("--sim-start-delay 600") as (process, _):
        assert process.stderr is not None
        assert await process.stderr.readline() == b"simulator: starting takes 600 s\n"
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 10) == 0


async def test_sigterm_lets_open_streams_end_and_then_exits_with_code_0() -> None:
    arguments = "--sim-ttft-ms 10 --sim-itl-ms 20 --sim-itl-sigma 0"
    async with simulator(arguments) as (process, root), aiohttp.ClientSession() as session:
        await healthy(session, root)
        body = {"prompt": "a", "max_tokens": 50, "ignore_eos": True, "stream": True}
        async with session.post(root + "/v1/completions", json=body) as reply:
            first = await reply.content.readany()
            process.send_signal(signal.SIGTERM)
            text = first + await reply.content.read()
        assert text.count(b"data: ") == 51
        assert text.endswith(b"data: [DONE]\n\n")
        assert await asyncio.wait_for(process.wait(), 10) == 0


async def test_crash_after_cuts_streams_and_exits_with_code_1() -> None:
    arguments = "--sim-crash-after 0.7 --sim-ttft-ms 1 --sim-itl-ms 10"
    async with simulator(arguments) as (process, root), aiohttp.ClientSession() as session:
        await healthy(session, root)
        body = {"prompt": "a", "max_tokens": 5000, "ignore_eos": True, "stream": True}
        async with session.post(root + "/v1/completions", json=body) as reply:
            with pytest.raises((aiohttp.ClientPayloadError, aiohttp.ClientOSError)):
                await reply.content.read()
        assert await asyncio.wait_for(process.wait(), 10) == 1


async def test_idle_connections_are_closed_after_as_long_as_vllm_keeps_them() -> None:
    async with simulator("", VLLM_HTTP_TIMEOUT_KEEP_ALIVE="1") as (_, root):
        async with aiohttp.ClientSession() as session:
            await healthy(session, root)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(root.rpartition(":")[2]))
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        started = time.monotonic()
        reply = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert reply.startswith(b"HTTP/1.1 200 OK")
    assert time.monotonic() - started > 0.5


async def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with simulator(f"--port {port}") as (process, _):
            _, message = await process.communicate()
    assert process.returncode == 1
    assert message.decode().startswith(f"simulator: cannot listen on port {port}: ")
    assert message.count(b"\n") == 1
