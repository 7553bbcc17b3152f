"""A controller as a child process beside the cluster, and what the kernel says of its cost."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_READY_SECONDS = 60.0
_END_SECONDS = 20.0
_TICKS = os.sysconf("SC_CLK_TCK")
_MIB = 2**20


class ControllerEndedError(Exception):
    """A controller is not there any more, or never was ready; the text is the end of its log."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used so far.

    Attributes:
        at: When, on the monotonic clock, in seconds.
        cpu_seconds: CPU time of all its threads.
        rss_mib: Resident memory now.
        peak_mib: The most that it ever was.
    """

    at: float
    cpu_seconds: float
    rss_mib: float
    peak_mib: float


class ControllerProcess:
    """One controller.

    Args:
        name: What a person calls it.
        argv: Its command line.
        environment: What it finds there beside what this process has.
        log: Where its log goes.
        ready_url: What answers with success when it is ready.
    """

    def __init__(
        self, name: str, argv: Sequence[str], environment: Mapping[str, str], log: Path, ready_url: str
    ) -> None:
        self._name = name
        self._log = log
        self._ready_url = ready_url
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                argv,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def until_ready(self) -> None:
        """Wait until it says that it is ready.

        Raises:
            ControllerEndedError: If it ends, or does not become ready in a minute.
        """
        deadline = time.monotonic() + _READY_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ControllerEndedError(self._last_words())
            time.sleep(0.2)

    def usage(self) -> Usage:
        """Return what it has used.

        Raises:
            ControllerEndedError: If it has ended.
        """
        if self._process.poll() is not None:
            raise ControllerEndedError(self._last_words())
        folder = Path(f"/proc/{self._process.pid}")
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])  # user and system time; see proc(5)
        memory = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        return Usage(time.monotonic(), ticks / _TICKS, _mib(memory["VmRSS"]), _mib(memory["VmHWM"]))

    def stop(self) -> None:
        """Ask it to end, and insist."""
        self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_END_SECONDS)

    def _is_ready(self) -> bool:
        try:
            return bool(answer(self._ready_url, seconds=2))
        except (urllib.error.URLError, OSError):
            return False

    def _last_words(self, lines: int = 10) -> str:
        return f"{self._name} has ended, or is not ready:\n" + "\n".join(
            self._log.read_text(errors="replace").splitlines()[-lines:]
        )


def kubeconfig(server: str, authority: Path, token: str) -> str:
    """Return a kubeconfig (JSON is YAML) for whoever bears a token."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "bench", "cluster": {"server": server, "certificate-authority": str(authority)}}
        ],
        "users": [{"name": "controller", "user": {"token": token}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "controller"}}],
        "current-context": "bench",
    }
    return json.dumps(document)


def answer(url: str, *, seconds: float) -> str:
    """Return what a URL of this machine answers with success.

    Raises:
        OSError: If nothing answers in so many seconds, or with an error.
    """
    with urllib.request.urlopen(url, timeout=seconds) as reply:
        return str(reply.read().decode())


def _mib(amount: str) -> float:
    number, unit = amount.split()
    if unit != "kB":
        raise ValueError(f"/proc gives memory in kB, not in {unit}")
    return int(number) * 1024 / _MIB
