"""The process: opens the port when it is time, dies when it is told to, and drains on SIGTERM."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

import uvloop
from aiohttp import web

from simulator.cli import parse
from simulator.server import Server
from simulator.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``vllm serve`` with these arguments; returns the exit code."""
    settings = parse(sys.argv[1:] if argv is None else argv)
    return uvloop.run(serve(settings))


async def serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT, or until the settings want a crash; returns the exit code."""
    stopped = _stop_on_signals()
    life = settings.lifecycle
    if life.crash_at_start:
        _log("EngineCore failed to start (asked for by --sim-crash-at-start).")
        return 1
    weights = _loaded(life.memory)
    if life.start_delay:
        _log(f"starting takes {life.start_delay:g} s")
        if await _waited(stopped, life.start_delay):
            return 0
    server = Server(settings)
    runner = web.AppRunner(
        server.application(),
        access_log=None,
        handler_cancellation=True,
        keepalive_timeout=_keep_alive_seconds(),
        shutdown_timeout=life.drain,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, settings.host, settings.port, backlog=1024).start()
    except OSError as error:
        _log(f"cannot listen on port {settings.port}: {error.strerror}")
        await runner.cleanup()
        return 1
    server.backend.open()
    if life.crash_after is not None:
        asyncio.get_running_loop().call_later(life.crash_after, _crash)
    _log(f"serving {settings.served_names[0]} on port {settings.port}, {len(weights) >> 20} MiB of weights")
    await stopped.wait()
    _log("draining")
    await runner.cleanup()
    return 0


def _loaded(mebibytes: int) -> bytes:
    """Take memory for weights, page by page, as nothing is really taken before it is written to."""
    if mebibytes:
        _log(f"loading weights of {mebibytes} MiB")
    return b"\x01" * (mebibytes << 20)


def _keep_alive_seconds() -> float:
    """How long idle connections are kept: as short as vLLM keeps them, which routers have to cope with."""
    return float(os.environ.get("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "5"))


def _stop_on_signals() -> asyncio.Event:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped


async def _waited(stopped: asyncio.Event, seconds: float) -> bool:
    """Wait for a time; True if a signal came first."""
    try:
        await asyncio.wait_for(stopped.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _crash() -> None:
    _log("EngineCore encountered a fatal error (asked for by --sim-crash-after).")
    # Not an orderly exit: streams break off as they do when a GPU is lost.
    os._exit(1)


def _log(message: str) -> None:
    print(f"simulator: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
