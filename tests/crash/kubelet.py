"""A node without a kubelet: a test writes what a kubelet would, about pods that do not do well.

The node belongs to nobody (KWOK leaves nodes without its annotation alone). Pods come to it by a node
selector, so that a revision's pods are in trouble and those of all others are KWOK's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from chaffinch.domain.manifests.common import ENGINE
from chaffinch.domain.names import ROLLOUT_LABEL
from localcluster import kwok
from localcluster.api import ApiClient

_MARK = "chaffinch.dev/kubelet"
HERE = {
    "nodeSelector": {_MARK: "a-test"},
    "tolerations": [{"key": _MARK, "operator": "Exists", "effect": "NoSchedule"}],
}
"""What brings pods here; no others come."""
_NAME = "unmanned"
_STARTED = "2026-01-01T00:00:00Z"
_CAPACITY = {"cpu": "1000", "memory": "16Ti", "pods": "4000", "nvidia.com/gpu": "4000"}
_BEAT_SECONDS = 10.0

Status = Mapping[str, Any]
Behaviour = Callable[[float, int], Status]
"""Returns a pod's status by its age in seconds and its number among its rollout's pods, from 0."""


@dataclass(slots=True)
class Kubelet:
    """Writes the statuses of the node's pods, and lets go of those that are deleted.

    Attributes:
        api: The API server, as the administrator.
        behaviours: What the pods of a rollout do, by its name; others wait for ever.
        stuck: Rollouts whose pods do not go when they are deleted.
        made: Uids of all pods that were seen, in order, by rollout.
    """

    api: ApiClient
    behaviours: Mapping[str, Behaviour]
    stuck: frozenset[str] = frozenset()
    made: dict[str, list[str]] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)
    _written: dict[str, Status] = field(default_factory=dict)
    _beat_at: float = -_BEAT_SECONDS

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Be there for the length of the block; then the node goes, with all its pods."""
        self.api.apply(f"/api/v1/nodes/{_NAME}", _node())
        self._beat()
        try:
            yield
        finally:
            for pod in self._pods():
                self._let_go(pod)
            self.api.delete(f"/api/v1/nodes/{_NAME}")

    def look(self) -> None:
        """Do what is due; to be called again and again."""
        self._beat()
        for pod in self._pods():
            rollout, uid = pod["metadata"]["labels"].get(ROLLOUT_LABEL, ""), pod["metadata"]["uid"]
            made = self.made.setdefault(rollout, [])
            if uid not in made:
                made.append(uid)
            if "deletionTimestamp" not in pod["metadata"]:
                age = time.monotonic() - self._since.setdefault(uid, time.monotonic())
                self._write(pod, self.behaviours[rollout](age, made.index(uid)))
            elif rollout not in self.stuck:
                self._let_go(pod)

    def _pods(self) -> list[dict[str, Any]]:
        found = self.api.get(f"/api/v1/pods?fieldSelector=spec.nodeName={_NAME}")
        return list((found or {"items": []})["items"])

    def _write(self, pod: Mapping[str, Any], status: Status) -> None:
        uid = pod["metadata"]["uid"]
        if self._written.get(uid) != status:
            with suppress(OSError):  # it may be gone by now
                self.api.merge(f"{_place(pod)}/status", {"status": status})
                self._written[uid] = status

    def _let_go(self, pod: Mapping[str, Any]) -> None:
        with suppress(OSError):
            self.api.delete(_place(pod), grace_seconds=0)

    def _beat(self) -> None:
        """Say that the node is Ready."""
        if time.monotonic() - self._beat_at < _BEAT_SECONDS:
            return
        self._beat_at, now = time.monotonic(), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {
            "type": "Ready", "status": "True", "reason": "KubeletReady",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        }  # fmt: skip
        status = {"capacity": _CAPACITY, "allocatable": _CAPACITY, "conditions": [ready]}
        self.api.merge(f"/api/v1/nodes/{_NAME}/status", {"status": status})


def _node() -> dict[str, Any]:
    taints = [
        {name: kwok.TOLERATION[name] for name in ("key", "value", "effect")},
        {"key": _MARK, "effect": "NoSchedule"},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": _NAME, "labels": {**kwok.NODE_SELECTOR, _MARK: "a-test"}},
        "spec": {"taints": taints},
    }


def _place(pod: Mapping[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def waiting(reason: str, restarts: int = 0, last: Mapping[str, Any] | None = None) -> Status:
    """Return the status of a pod whose engine does not run."""
    return _status({"waiting": {"reason": reason}}, restarts, last, ready=False)


def running(restarts: int, last: Mapping[str, Any] | None) -> Status:
    """Return the status of a pod that is Ready."""
    return _status({"running": {"startedAt": _STARTED}}, restarts, last, ready=True)


def failed(reason: str) -> Status:
    """Return the status of a pod that has ended for good."""
    return {"phase": "Failed", "reason": reason, "message": "written by a test", "startTime": _STARTED}


def ended(exit_code: int, reason: str) -> Mapping[str, Any]:
    """Return how a container ended."""
    return {"terminated": {"exitCode": exit_code, "reason": reason}}


def _status(
    state: Mapping[str, Any], restarts: int, last: Mapping[str, Any] | None, *, ready: bool
) -> Status:
    container = {
        "name": ENGINE,
        "image": "localhost/engine:1",
        "imageID": "",
        "restartCount": restarts,
        "ready": ready,
        "state": state,
        "lastState": last or {},
    }
    says = "True" if ready else "False"
    conditions = [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Initialized", "status": "True"},
        {"type": "ContainersReady", "status": says},
        {"type": "Ready", "status": says},
    ]
    phase = "Running" if restarts or ready else "Pending"
    return {
        "phase": phase,
        "conditions": conditions,
        "containerStatuses": [container],
        "startTime": _STARTED,
    }
