"""``python -m traffic``: makes traffic, writes a summary every second and a last one at the end."""

import argparse
import asyncio
import json
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop

from traffic.maker import TrafficMaker
from traffic.profile import Profile, PromptLength


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit code, which does not depend on what users saw."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        profile = _profile(options)
    except ValueError as error:
        parser.error(str(error))
    out: Path = options.out
    if not out.parent.is_dir():
        parser.error(f"--out: there is no folder {out.parent}")
    return uvloop.run(_run(profile, out, tuple(options.canary)))


async def _run(profile: Profile, out: Path, canaries: tuple[str, ...]) -> int:
    maker = TrafficMaker(profile)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, maker.stop)
    report = Report(out, maker, canaries)
    run = asyncio.create_task(maker.run())
    while not run.done():
        report.write(finished=False)
        await asyncio.wait({run}, timeout=1)
    await run
    report.write(finished=True)
    return 0


class Report:
    """Writes the counts of a run so that a reader never sees half a file."""

    def __init__(self, path: Path, maker: TrafficMaker, canaries: tuple[str, ...]) -> None:
        self._path = path
        self._maker = maker
        self._canaries = canaries
        self._started_at = time.time()

    def write(self, *, finished: bool) -> None:
        """Replace the file with the counts so far."""
        profile = self._maker.profile
        summary = {
            "finished": finished,
            "startedAt": round(self._started_at, 3),
            "seconds": round(time.time() - self._started_at, 3),
            "url": profile.url,
            "rate": profile.rate,
            "seed": profile.seed,
        }
        partial = self._path.with_name(self._path.name + ".partial")
        partial.write_text(json.dumps(summary | self._maker.ledger.to_json(self._canaries)) + "\n")
        partial.replace(self._path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="traffic", description=__doc__)
    add = parser.add_argument
    add("--url", required=True, help="root of the service, as http://HOST[:PORT]")
    add("--model", required=True, help="served name of the model")
    add("--rate", type=float, required=True, help="requests per second")
    add("--seconds", type=float, required=True, help="time during which requests are started")
    add("--out", type=Path, required=True, help="file for the summary")
    add("--max-requests", type=int, help="most requests to start")
    add("--arrivals", choices=["constant", "poisson"], default="poisson")
    add(
        "--prompt-words",
        default="24",
        metavar="WORDS[:WEIGHT],…",
        help="mix of prompt lengths, such as 24:3,400:1",
    )
    add("--max-tokens", type=int, default=16, help="tokens of each answer")
    add("--concurrency", type=int, default=256, help="most requests under way at once")
    add("--timeout", type=float, default=60.0, help="seconds until a request has failed")
    add("--seed", type=int, help="fixes arrivals and prompts; a new one each time if left out")
    add(
        "--canary",
        action="append",
        default=[],
        metavar="REVISION",
        help="revision whose failures are its own and no concern of failedOnStable; may be repeated",
    )
    return parser


def _profile(options: argparse.Namespace) -> Profile:
    return Profile(
        url=options.url,
        model=options.model,
        rate=options.rate,
        seconds=options.seconds,
        max_requests=options.max_requests,
        arrivals=options.arrivals,
        prompt_lengths=_prompt_lengths(options.prompt_words),
        max_tokens=options.max_tokens,
        concurrency=options.concurrency,
        timeout=options.timeout,
        seed=secrets.randbits(32) if options.seed is None else options.seed,
    )


def _prompt_lengths(text: str) -> tuple[PromptLength, ...]:
    lengths = []
    for part in text.split(","):
        words, _, weight = part.partition(":")
        try:
            lengths.append(PromptLength(int(words), float(weight or 1)))
        except ValueError:
            raise ValueError(f"--prompt-words: {part!r} is not of the form WORDS[:WEIGHT]") from None
    return tuple(lengths)


if __name__ == "__main__":
    sys.exit(main())
