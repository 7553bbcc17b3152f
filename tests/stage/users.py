"""The users of a service: a bounded traffic maker in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from stage.service import Service
from traffic.ledger import failed_on_stable

RATE = 90
LONGEST_SECONDS = 1800
PROMPT_WORDS = 400
"""Longer than any prompt of the probe profile, so that users meet what the probe cannot see."""

_START_SECONDS = 30
_STOP_SECONDS = 20


class Users:
    """Calls a service all the time, at most for half an hour, and counts what it saw."""

    def __init__(self, service: Service, report: Path, *, rate: float = RATE) -> None:
        self._report = report
        report.parent.mkdir(parents=True, exist_ok=True)
        report.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [
                sys.executable, "-m", "traffic",
                f"--url={service.url}", f"--model={service.name}", f"--rate={rate}",
                f"--seconds={LONGEST_SECONDS}", f"--prompt-words={PROMPT_WORDS}", "--seed=1",
                f"--out={report}",
            ]
        )  # fmt: skip
        try:
            self._await_first_report()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def summary(self) -> dict[str, Any]:
        """What the users have seen so far."""
        seen: dict[str, Any] = json.loads(self._report.read_text())
        return seen

    def stop(self) -> None:
        """Send no more requests and wait for those under way."""
        self._process.terminate()
        try:
            self._process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def counts(self, canaries: tuple[str, ...]) -> dict[str, int]:
        """Return requests, failures, and those failures that no rolled-back canary answers for."""
        seen = self.summary
        return {
            "requests": seen["requests"],
            "failed": seen["failed"],
            "failedOnStable": failed_on_stable(seen, canaries),
        }

    def _await_first_report(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._report.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the traffic maker did not start; its error is above")
            time.sleep(0.1)
