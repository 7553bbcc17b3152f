"""The simulator as a process of its own."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from loopback import free_port

TESTS = Path(__file__).parents[2]


@asynccontextmanager
async def simulator(
    arguments: str, **environment: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "simulator", "serve", "m", "--host", "127.0.0.1", "--port", str(port),
        *arguments.split(),
        env={**os.environ, "PYTHONPATH": str(TESTS), **environment}, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def healthy(session: aiohttp.ClientSession, root: str) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            async with session.get(root + "/health") as reply:
                assert reply.status == 200
                return
        except aiohttp.ClientConnectorError:
            await asyncio.sleep(0.02)
    raise TimeoutError("the simulator did not get healthy")
