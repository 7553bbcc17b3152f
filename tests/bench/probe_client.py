"""How true is the probe's clock? Its TTFT P95 beside the server's own, at 128 streams, in the same run.

The server is a process of its own that does nothing but stream on time, and notes for every request how long
it really waited before its first token. With ``--tick`` all streams get their tokens at the same instant, as
a batching engine sends them. Run it as ``PYTHONPATH=operator python tests/bench/probe_client.py``.

It prints one line of JSON; the ratio is the client's P95 over the server's. The exit code is 1 if it is over
1.1 while the probe's own self-check passed: a clock may be wrong on a busy machine, but not unnoticed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import subprocess
import sys
import time
from typing import cast

import uvloop

from chaffinch.api.v1alpha1.profile import Output, Prompt, Stage, WarmUp
from chaffinch.domain import grid
from chaffinch.probe.client import Client
from chaffinch.probe.load import LoadGenerator
from chaffinch.probe.plan import ProbePlan
from chaffinch.probe.result import StageRecord
from chaffinch.probe.watch import Watch


def _chunk(text: str) -> bytes:
    return f"{len(text):x}\r\n{text}\r\n".encode()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TOKEN = _chunk('data: {"id":"c","object":"chunk","choices":[{"index":0,"delta":{"content":" word"}}]}\n\n')
LAST = _chunk('data: {"choices":[{"index":0,"delta":{"content":" end"},"finish_reason":"length"}]}\n\n')
ALLOWED_RATIO = 1.1


class Connection(asyncio.Protocol):
    """One connection: reads a request, streams tokens on time, remembers the true wait; again and again."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._seen = b""
        self._came = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._out = cast("asyncio.WriteTransport", transport)  # uvloop's is one in all but its bases

    def data_received(self, data: bytes) -> None:
        self._came = time.monotonic()
        self._seen += data
        head, _, body = self._seen.partition(b"\r\n\r\n")
        if head.startswith(b"GET"):
            self._out.write(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n")
        elif len(body) < int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
            return
        else:
            self._out.write(HEAD)
            self._at(self._server.first_due(self._came), self._server.tokens)
        self._seen = b""

    def _at(self, due: float, left: int) -> None:
        asyncio.get_running_loop().call_later(max(0.0, due - time.monotonic()), self._token, due, left)

    def _token(self, due: float, left: int) -> None:
        if left == self._server.tokens:
            self._server.waits.append(time.monotonic() - self._came)
        self._out.write(TOKEN if left > 1 else self._server.end)
        if left > 1:
            self._at(due + self._server.itl, left - 1)


class Server:
    """What the connections share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.tokens = options.tokens
        self.itl: float = options.itl_ms / 1000
        self.waits: list[float] = []
        usage = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": self.tokens}}
        self.end = LAST + _chunk(f"data: {json.dumps(usage)}\n\n") + _chunk("data: [DONE]\n\n") + b"0\r\n\r\n"
        self._ttft: float = options.ttft_ms / 1000
        self._tick = options.tick
        self._draws = random.Random(7)

    def first_due(self, came: float) -> float:
        """When the first token of a request that came just now is due."""
        moment = came + self._ttft * self._draws.lognormvariate(0, 0.3)
        return math.ceil(moment / self.itl) * self.itl if self._tick else moment


def percentile(values: list[float], p: float) -> float:
    return sorted(values)[int(p * (len(values) - 1))]


async def serve(options: argparse.Namespace) -> None:
    server = Server(options)
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", 0, backlog=1024)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    print(json.dumps(server.waits[options.streams :]), flush=True)


async def measure(port: int, options: argparse.Namespace) -> StageRecord:
    plan = ProbePlan(
        probe_uid="bench",
        targets=(f"http://127.0.0.1:{port}",),
        model="bench",
        warm_up=WarmUp(requests=options.streams, concurrency=options.streams),
        stages=(
            Stage(
                name="bench",
                concurrency=options.streams,
                requests=options.streams * options.rounds,
                timeout="5m",
            ),
        ),
        gate_stage="bench",
        prompt=Prompt(tokens=128),
        output=Output(tokens=options.tokens),
        request_timeout="60s",
    )
    async with Client() as client:
        return (await LoadGenerator(plan, client, Watch()).run()).stages[0]


def report(stage: StageRecord, waits: list[float], options: argparse.Namespace) -> bool:
    """Print the figures; returns whether the clock is true, or says itself that it is not."""
    client = {p: grid.decode(stage.sketches.ttft or "").quantile_seconds(p) or 0.0 for p in (0.5, 0.95)}
    truth = {p: percentile(waits, p) for p in (0.5, 0.95)}
    ratio = client[0.95] / truth[0.95]
    line = {
        "streams": options.streams,
        "tick": options.tick,
        "requests": stage.requests,
        "errors": stage.errors,
        "events_per_second": round(1000 * stage.output_tokens / stage.duration_millis),
        "ttft_p50_ms": {"client": round(1e3 * client[0.5], 1), "server": round(1e3 * truth[0.5], 1)},
        "ttft_p95_ms": {"client": round(1e3 * client[0.95], 1), "server": round(1e3 * truth[0.95], 1)},
        "ratio_p95": round(ratio, 3),
        "lag_p99_ms": stage.generator.lag_p99_micros / 1000,
        "cpu_share": stage.generator.cpu_permille / 1000,
        "mean_concurrency": (stage.generator.mean_concurrency_milli or 0) / 1000,
        "self_check": stage.self_check.problem or "passed",
    }
    print(json.dumps(line))
    return ratio <= ALLOWED_RATIO or not stage.self_check.passed


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the probe's TTFT with the server's own.")
    parser.add_argument("--streams", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=6, help="requests per stream")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--ttft-ms", type=float, default=100)
    parser.add_argument("--itl-ms", type=float, default=33)
    parser.add_argument("--tick", action="store_true", help="send the tokens of all streams at once")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if options.serve:
            runner.run(serve(options))
            return 0
        command = [sys.executable, __file__, "--serve", *sys.argv[1:]]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            stage = runner.run(measure(int(child.stdout.readline()), options))
            child.stdin.write("\n")
            child.stdin.flush()
            waits: list[float] = json.loads(child.stdout.readline())
    return 0 if report(stage, waits, options) else 1


if __name__ == "__main__":
    sys.exit(main())
