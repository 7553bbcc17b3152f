"""Runs one plan and hands its result over: ``python -m chaffinch.probe --plan JSON``.

:mod:`chaffinch.api.exits` says what its exit codes mean.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence

import uvloop

from chaffinch.api.exits import ProbeExit
from chaffinch.probe.client import Client
from chaffinch.probe.load import LoadGenerator
from chaffinch.probe.plan import PlanError, ProbePlan, parse_plan
from chaffinch.probe.server import PORT, ResultDesk, serve
from chaffinch.probe.watch import Watch

COLLECT_SECONDS = 600

_log = logging.getLogger("chaffinch.probe")


def main(arguments: Sequence[str] | None = None) -> ProbeExit:
    """Run the worker; returns its exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        plan = parse_plan(options.plan)
    except PlanError as error:
        print(f"error: --plan: {error}", file=sys.stderr)
        return ProbeExit.USAGE
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            return runner.run(_work(plan, options.port, options.collect_seconds))
        except asyncio.CancelledError:
            _log.warning("ended by a signal; there is no result")
            return ProbeExit.TERMINATED


async def _work(plan: ProbePlan, port: int, collect_seconds: int) -> ProbeExit:
    # Process 1 of a container ignores signals that it has no handler for.
    task = asyncio.current_task()
    assert task is not None, "runs inside a task"  # noqa: S101
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    watch = Watch()
    desk = ResultDesk(watch)
    try:
        runner = await serve(desk, port)
    except OSError as error:
        _log.error("cannot listen on port %d (%s); choose a free one with --port", port, error.strerror)
        return ProbeExit.FAILED
    try:
        async with Client() as client:
            record = await LoadGenerator(plan, client, watch).run()
        desk.publish(record.to_json())
        _log.info("done; the result waits at GET /result")
        if not await desk.wait_collected(collect_seconds):
            _log.warning("nobody collected the result in %d s", collect_seconds)
        return ProbeExit.DONE
    finally:
        await runner.cleanup()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaffinch.probe",
        description="Measure inference servers under a fixed load and serve the result over HTTP.",
    )
    parser.add_argument("--plan", required=True, metavar="JSON", help="the whole plan, as JSON")
    parser.add_argument("--port", type=int, default=PORT, help="port of the result (default: %(default)s)")
    parser.add_argument(
        "--collect-seconds",
        type=int,
        default=COLLECT_SECONDS,
        help="how long the result waits to be collected (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
