"""How many streams one core carries: starts a simulator, reads its streams, weighs its CPU time.

Run it as ``PYTHONPATH=tests python tests/bench/simulator.py``. It prints one line for each number of
streams: the token rate against the rate that the arguments promise, the CPU share of the simulator's
process, and the streams that a whole core would carry at that price. The last line is the verdict against
the goal of 200 streams of 30 tokens/s per core; the exit code is 1 if it is missed.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import uvloop

RATE = 30.0
"""Tokens per second of one stream."""
GOAL = 200
"""Streams that one core must carry."""
KEPT = 0.95
"""Share of the promised token rate that must arrive."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one load did.

    Attributes:
        streams: Streams open all the time.
        achieved: Tokens per second that arrived.
        cpu: CPU seconds of the simulator per second.
        late: Largest gap between two reads of one stream, seconds.
    """

    streams: int
    achieved: float
    cpu: float
    late: float

    @property
    def kept(self) -> float:
        """Share of the promised token rate that arrived."""
        return self.achieved / (self.streams * RATE)

    @property
    def per_core(self) -> float:
        """Streams that a core would carry at this price."""
        return self.streams * self.kept / self.cpu

    def __str__(self) -> str:
        return (
            f"{self.streams:4d} streams: {self.achieved:7.0f} of {self.streams * RATE:.0f} tokens/s "
            f"({self.kept:6.1%}), simulator {self.cpu:5.1%} of a core, largest gap "
            f"{self.late * 1e3:.0f} ms: {self.per_core:.0f} streams per core"
        )


class Reader:
    """Reads one stream and counts its events."""

    def __init__(self) -> None:
        self.events = 0
        self.late = 0.0

    async def run(self, port: int, tokens: int) -> None:
        """Send one request and read until the connection closes."""
        body = json.dumps(
            {
                "model": "bench",
                "messages": [{"role": "user", "content": "count"}],
                "max_tokens": tokens,
                "ignore_eos": True,
                "stream": True,
            }
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        previous = time.monotonic()
        while data := await reader.read(65536):
            now = time.monotonic()
            self.events += data.count(b"data: ")
            self.late = max(self.late, now - previous)
            previous = now
        writer.close()


async def measure(pid: int, port: int, streams: int, seconds: float) -> Measurement:
    """Keep a number of streams open and measure their middle part."""
    readers = [Reader() for _ in range(streams)]
    tokens = int((seconds + 4) * RATE)
    tasks = [asyncio.create_task(reader.run(port, tokens)) for reader in readers]
    await asyncio.sleep(2)
    for reader in readers:
        reader.late = 0.0
    events, cpu, started = sum(reader.events for reader in readers), cpu_seconds(pid), time.monotonic()
    await asyncio.sleep(seconds)
    elapsed = time.monotonic() - started
    achieved = (sum(reader.events for reader in readers) - events) / elapsed
    result = Measurement(
        streams, achieved, (cpu_seconds(pid) - cpu) / elapsed, max(reader.late for reader in readers)
    )
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return result


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def wait_for_port(port: int, process: asyncio.subprocess.Process) -> None:
    """Wait until the simulator accepts connections."""
    for _ in range(100):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            if process.returncode is not None:
                raise RuntimeError(f"the simulator ended with code {process.returncode}") from None
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise TimeoutError(f"nothing listens on port {port} after 10 s")


async def run(streams: list[int], seconds: float, port: int) -> int:
    """Run every load against one simulator; returns the exit code."""
    arguments = f"serve bench --host 127.0.0.1 --port {port} --max-num-seqs 1024 --sim-batch-slope 0"
    arguments += f" --sim-itl-ms {1000 / RATE} --sim-itl-sigma 0 --sim-sigma 0"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "simulator", *arguments.split(), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await wait_for_port(port, process)
        results = []
        for count in streams:
            results.append(await measure(process.pid, port, count, seconds))
            print(results[-1], flush=True)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
    good = [result for result in results if result.kept >= KEPT and result.per_core >= GOAL]
    print(f"goal of {GOAL} streams per core at {KEPT:.0%} of the rate: {'met' if good else 'MISSED'}")
    return 0 if good else 1


def main() -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--port", type=int, default=18765)
    options = parser.parse_args()
    return uvloop.run(run(options.streams, options.seconds, options.port))


if __name__ == "__main__":
    sys.exit(main())
