"""The operator as a child process, as the chart starts it, and what the kernel and it say of its cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HEALTH_PORT = 18081
METRICS_PORT = 19091

_READY_SECONDS = 60.0
_END_SECONDS = 20.0
_TICKS = os.sysconf("SC_CLK_TCK")
_MIB = 2**20


class OperatorEndedError(Exception):
    """The operator is not there any more; the text is the end of its log."""


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


class OperatorProcess:
    """One operator.

    Args:
        kubeconfig: Its way to the API server.
        log: Where its log goes.
        settings: ``CHAFFINCH_*`` variables that have no default.
    """

    def __init__(self, kubeconfig: Path, log: Path, settings: Mapping[str, str]) -> None:
        self._log = log
        environment = {
            **os.environ,
            **settings,
            "KUBECONFIG": str(kubeconfig),
            "CHAFFINCH_HEALTH_PORT": str(HEALTH_PORT),
            "CHAFFINCH_METRICS_PORT": str(METRICS_PORT),
        }
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "chaffinch"], env=environment, stdout=output, stderr=output
            )

    def until_ready(self) -> None:
        """Wait until ``/readyz`` says so.

        Raises:
            OperatorEndedError: If it ends, or does not become ready in a minute.
        """
        deadline = time.monotonic() + _READY_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise OperatorEndedError(self._last_words())
            time.sleep(0.2)

    def usage(self) -> Usage:
        """Return what it has used.

        Raises:
            OperatorEndedError: If it has ended.
        """
        if self._process.poll() is not None:
            raise OperatorEndedError(self._last_words())
        folder = Path(f"/proc/{self._process.pid}")
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])  # user and system time; see proc(5)
        memory = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        return Usage(time.monotonic(), ticks / _TICKS, _mib(memory["VmRSS"]), _mib(memory["VmHWM"]))

    def metrics(self) -> str:
        """Return what it answers to a scrape."""
        return _answer(f"http://127.0.0.1:{METRICS_PORT}/metrics", seconds=30)

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
            return bool(_answer(f"http://127.0.0.1:{HEALTH_PORT}/readyz", seconds=2))
        except (urllib.error.URLError, OSError):
            return False

    def _last_words(self, lines: int = 10) -> str:
        return "the operator has ended, or is not ready:\n" + "\n".join(
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
        "users": [{"name": "operator", "user": {"token": token}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "operator"}}],
        "current-context": "bench",
    }
    return json.dumps(document)


def _answer(url: str, *, seconds: float) -> str:
    with urllib.request.urlopen(url, timeout=seconds) as reply:
        return str(reply.read().decode())


def _mib(amount: str) -> float:
    number, unit = amount.split()
    if unit != "kB":
        raise ValueError(f"/proc gives memory in kB, not in {unit}")
    return int(number) * 1024 / _MIB
