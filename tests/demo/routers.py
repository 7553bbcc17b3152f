"""Watches the routers of a service, to measure how fast a rollback reaches the users."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from stage.kubectl import Kubectl

_POLL_SECONDS = 0.1
_TIMEOUT_SECONDS = 2.0


class RouterWatch:
    """Polls each router's agent and notes when it took a revision's weight away."""

    def __init__(self, kubectl: Kubectl, service: str) -> None:
        pods = kubectl.list(
            "pods", f"--selector=chaffinch.dev/rollout={service},app.kubernetes.io/component=router"
        )
        self._addresses = tuple(pod["status"]["podIP"] for pod in pods)
        self._weights: dict[str, Mapping[str, int]] = {}
        self._zeroed: dict[tuple[str, str], datetime] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="router-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def zeroed_at(self, revision: str) -> datetime | None:
        """Return when the last router took all weight from a revision; None unless every one did."""
        times = [self._zeroed.get((address, revision)) for address in self._addresses]
        found = [at for at in times if at is not None]
        return max(found) if found and len(found) == len(times) else None

    def _watch(self) -> None:
        while not self._stop.wait(_POLL_SECONDS):
            for address in self._addresses:
                state = _state(address)
                if state is not None:
                    self._note(address, state)

    def _note(self, address: str, state: Mapping[str, Any]) -> None:
        weights: Mapping[str, int] = state["weights"]
        for revision, before in self._weights.get(address, {}).items():
            if before > 0 and weights.get(revision, 0) == 0:
                self._zeroed[address, revision] = datetime.fromisoformat(state["appliedAt"])
        self._weights[address] = weights


def _state(address: str) -> Mapping[str, Any] | None:
    try:
        with urllib.request.urlopen(f"http://{address}:9090/state", timeout=_TIMEOUT_SECONDS) as reply:
            state: Mapping[str, Any] = json.load(reply)
            return state
    except OSError:
        return None
