"""Child processes that run the operator: each from nothing, or forked from one that has imported it.

Imports are most of what a start costs, more than a second of CPU, and a sweep starts the operator hundreds of
times. A forked one is the same program with the same memory as after its imports; all that it does from
``main`` on it does itself.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["chaffinch.__main__"])
_ONE_AT_A_TIME = threading.Lock()
"""Whoever starts a fork also asks how all others are, and only the first to ask is told."""


class Child(Protocol):
    """A process that was started."""

    @property
    def exit_code(self) -> int | None:
        """How it ended, with a signal's number below zero; None if it has not."""

    def send_signal(self, number: signal.Signals, /) -> None:
        """Send it a signal, if it still runs."""

    def wait(self, seconds: float, /) -> int:
        """Wait for its end; return its exit code.

        Raises:
            TimeoutError: If it takes longer than so many seconds.
        """


Starter = Callable[[Mapping[str, str], Path], Child]
"""Starts the operator with an environment, and a file that its output is added to."""


class Fresh:
    """A process from nothing.

    Args:
        environment: All its environment variables.
        log: What it prints is added here.
    """

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "chaffinch"], env=environment, stdout=output, stderr=output
            )

    @property
    def exit_code(self) -> int | None:
        """How it ended."""
        return self._process.poll()

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        self._process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """Wait for its end."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(str(error)) from None


class Forked:
    """A process that begins where the imports have ended; it ends with this one at the latest.

    Args:
        environment: All its environment variables.
        log: What it prints is added here.
    """

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        arguments = (dict(environment), str(log))
        self._process = _FORKS.Process(target=_operator, args=arguments, daemon=True)
        with _ONE_AT_A_TIME:
            self._process.start()

    @property
    def exit_code(self) -> int | None:
        """How it ended."""
        with _ONE_AT_A_TIME:
            return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if self.exit_code is None:
            assert self._process.pid is not None
            os.kill(self._process.pid, number)

    def wait(self, seconds: float) -> int:
        """Wait for its end."""
        multiprocessing.connection.wait([self._process.sentinel], seconds)
        code = self.exit_code
        if code is None:
            raise TimeoutError(f"process {self._process.pid} still runs after {seconds:g} s")
        return code


def _operator(environment: Mapping[str, str], log: str) -> None:
    """Be the operator; runs in the fork."""
    os.environ.clear()
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(output, stream.fileno())
    from chaffinch.__main__ import main  # imported long ago, in the process that this is a fork of

    sys.exit(main())
