"""The operator as a child process: started, killed, stopped, continued, by its process id."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from chaffinch.settings import PREFIX, Settings
from crash.children import Child, Fresh, Starter
from loopback import free_port

_END_SECONDS = 20.0
_READY_SECONDS = 60.0

# As short as they may be, so that a rollout takes seconds.
FAST = {
    "CHAFFINCH_ACTIVE_INTERVAL": "0.5",
    "CHAFFINCH_IDLE_INTERVAL": "1",
    "CHAFFINCH_PASS_SPACING": "0.2",
    "CHAFFINCH_BACKOFF_LIMIT": "5",
    "CHAFFINCH_LEASE_DURATION": "3",
}
PRODUCTION = {name: str(Settings.model_fields[name.removeprefix(PREFIX).lower()].default) for name in FAST}
"""The same settings as an operator has them that is told nothing."""


class OperatorProcess:
    """One process at a time; :meth:`revive` starts the next one, as a kubelet would.

    Args:
        name: Its name in the Lease.
        api_url: Where it finds the API server: a fault proxy.
        folder: For its kubeconfig and its log.
        settings: Environment variables.
        starter: How its processes come to be.

    Attributes:
        settings: All environment variables of ours that it is given at its next start.
        started_with: Those that the last one was given.
    """

    def __init__(
        self, name: str, api_url: str, folder: Path, settings: Mapping[str, str], starter: Starter = Fresh
    ) -> None:
        self.name = name
        self._starter = starter
        self.log = folder / f"{name}.log"
        kubeconfig = folder / f"{name}.kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig(api_url)))
        self._health_port = free_port()
        ports = {"HEALTH": self._health_port, "METRICS": free_port()}
        self.settings = {
            "KUBECONFIG": str(kubeconfig),
            "CHAFFINCH_IMAGE": "localhost/chaffinch:dev",
            "CHAFFINCH_ENVOY_IMAGE": "localhost/envoy:dev",
            "CHAFFINCH_IDENTITY": name,
            "CHAFFINCH_LOG_FORMAT": "text",
            **{f"CHAFFINCH_{what}_PORT": str(port) for what, port in ports.items()},
            **settings,
        }
        self.started_with: Mapping[str, str] = {}
        self._process: Child | None = None

    @property
    def alive(self) -> bool:
        """Whether the process runs, asleep or not."""
        return self._process is not None and self._process.exit_code is None

    @property
    def exit_code(self) -> int | None:
        """How it ended; None if it has not."""
        return None if self._process is None else self._process.exit_code

    def start(self) -> None:
        """Start the process; it becomes ready later."""
        assert not self.alive, f"{self.name} runs already"
        self.started_with = dict(self.settings)
        self._process = self._starter({**os.environ, **self.settings}, self.log)

    def revive(self) -> None:
        """Start the next process if the last one has ended."""
        if not self.alive:
            self.start()

    def kill(self) -> None:
        """End the process at once, as a machine that fails does."""
        self._signal(signal.SIGKILL)

    def pause(self) -> None:
        """Let the process sleep in the middle of whatever it does."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Wake it up."""
        self._signal(signal.SIGCONT)

    def terminate(self) -> int:
        """Ask the process to end; return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(_END_SECONDS)

    def stop(self) -> None:
        """End it, if it runs, whatever it takes."""
        if self._process is None:
            return
        if self.alive:
            self.kill()
        self._process.wait(_END_SECONDS)

    def is_ready(self) -> bool:
        """Say whether its ``/readyz`` says so."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._health_port}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def until_ready(self) -> None:
        """Wait until it is ready; fails with the end of its log."""
        deadline = time.monotonic() + _READY_SECONDS
        while not self.is_ready():
            if not self.alive or time.monotonic() > deadline:
                raise AssertionError(f"{self.name} does not become ready:\n{self.last_words()}")
            time.sleep(0.1)

    def last_words(self, lines: int = 15) -> str:
        """Return the end of its log."""
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


def _kubeconfig(server: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proxy", "cluster": {"server": server}}],
        "users": [{"name": "operator", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "operator"}}],
        "current-context": "proxy",
    }
