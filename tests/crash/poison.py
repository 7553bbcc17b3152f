"""Rollouts that go as badly as a rollout can, to see that no other one notices (I11).

Each kind is something that a user, or whoever may write in a namespace, can do to a rollout that serves.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.manifests.common import ENGINE
from chaffinch.domain.names import ROLLOUT_LABEL, RolloutIdentity, child_labels, owner_reference
from chaffinch.domain.revision import revision_of
from chaffinch.routing.envoy import COMPONENT as ROUTER
from crash.crowd import Holds, apply, says, scripted, status_of
from crash.playground import Object, Playground, path_of
from crash.rollouts import OBJECTIVES
from stage.service import Service

MINIMUM_SECONDS = 1
"""What each step takes at least."""
_STEPS = (
    {"name": "canary-50", "canary": {"weight": 50, "for": f"{MINIMUM_SECONDS}s"}},
    {"name": "bake", "bake": {"for": f"{MINIMUM_SECONDS}s"}},
)
_ANNOTATION_BYTES = 200 * 1024  # of 256 KiB that an object may have
_MESSAGE_BYTES = 400 * 1024


def version(namespace: str, name: str, number: int) -> dict[str, Any]:
    """Return a version of a rollout that is as good as the one before."""
    return Service(
        namespace,
        name,
        replicas=1,
        flags=(f"--seed={number}",),
        steps=_STEPS,
        objectives=OBJECTIVES,
        image="localhost/engine:1",
    ).manifest()


@dataclass(slots=True)
class Poisoner:
    """Does harm to rollouts, each of which serves its first version.

    Attributes:
        playground: The surroundings.
        namespace: Where they are.
        names: Which of the kinds; all of them at once, unless told otherwise.
        looks: How often :meth:`look` was called.
    """

    playground: Playground
    namespace: str
    names: Collection[str] = field(default_factory=lambda: tuple(ENDS))
    looks: int = field(default=0, init=False)

    def begin(self) -> None:
        """Do what is done once, and let the second version be rolled out."""
        for name in self.names:
            second = version(self.namespace, name, 2)
            match name:
                case "forged":
                    self._forge_a_revision(name, revision_of(parse_rollout(second)))
                case "taken":
                    self._take_a_name(revision_name(name, revision_of(parse_rollout(second))))
                case "refused":
                    _ask_for_half_a_device(second)
            apply(self.playground, second)

    def look(self) -> None:
        """Do what is done again and again, as soon as the operator has mended it."""
        self.looks += 1
        for name, harm in {"unreadable": self._garble_the_plan, "huge": self._write_much}.items():
            if name in self.names:
                with suppress(OSError):  # somebody else may be writing
                    harm(name)

    @contextmanager
    def unanswered(self) -> Iterator[None]:
        """Let Prometheus hang for the rollout that it does not answer, if it is there, in the block."""
        uids = {self._rollout(name)["metadata"]["uid"] for name in self.names if name == "unanswered"}
        with scripted(self.playground.stage.script, unanswered=uids):
            yield

    def _forge_a_revision(self, name: str, revision: str) -> None:
        """Make an object that looks like the next revision, and is nothing that the operator can read."""
        identity = RolloutIdentity(self.namespace, name, self._rollout(name)["metadata"]["uid"])
        forged = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": revision_name(name, revision),
                "labels": child_labels(name, ENGINE, revision),
                "ownerReferences": [owner_reference(identity)],
            },
            "revision": 7,
            "data": {},
        }
        self.playground.api.create(f"/apis/apps/v1/namespaces/{self.namespace}/controllerrevisions", forged)

    def _take_a_name(self, taken: str) -> None:
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": taken},
            "spec": {"ports": [{"port": 1}]},
        }
        self.playground.api.apply(f"/api/v1/namespaces/{self.namespace}/services/{taken}", service)

    def _garble_the_plan(self, name: str) -> None:
        if status_of(self._rollout(name)).get("rollout"):
            self.playground.api.merge(f"{self._path(name)}/status", {"status": {"rollout": {"plan": "{"}}})

    def stand_in(self, name: str) -> None:
        """Make what :meth:`look` writes to, where no operator does: a rollout and its pods."""
        apply(self.playground, version(self.namespace, name, 1))
        for number, component in enumerate((ENGINE, ENGINE, ROUTER, ROUTER)):
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"{name}-{number}", "labels": child_labels(name, component)},
                "spec": {"containers": [{"name": "none", "image": "localhost/engine:1"}]},
            }
            self.playground.api.create(f"/api/v1/namespaces/{self.namespace}/pods", pod)

    def _write_much(self, name: str) -> None:
        text = json.dumps(self.looks) * _ANNOTATION_BYTES
        annotations = {"example.com/notes": text[:_ANNOTATION_BYTES]}
        self.playground.api.merge(self._path(name), {"metadata": {"annotations": annotations}})
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        found = self.playground.api.get(f"{pods}?labelSelector={ROLLOUT_LABEL}={name}") or {"items": []}
        for pod in found["items"]:
            status = {"message": (json.dumps(self.looks) * _MESSAGE_BYTES)[:_MESSAGE_BYTES]}
            self.playground.api.merge(f"{pods}/{pod['metadata']['name']}/status", {"status": status})

    def _rollout(self, name: str) -> Object:
        found = self.playground.api.get(self._path(name))
        assert found is not None
        return found

    def _path(self, name: str) -> str:
        return path_of(self.namespace, name)


def _ask_for_half_a_device(rollout: dict[str, Any]) -> None:
    """No rule of ours knows that Kubernetes counts foreign resources in whole numbers."""
    rollout["spec"]["pod"]["resources"]["limits"]["example.com/device"] = "0.5"


def _stalled(reason: str) -> Holds:
    return lambda rollout: says(rollout, "Stalled") == ("True", reason)


def _is_held(rollout: Object) -> bool:
    hold = (status_of(rollout).get("rollout") or {}).get("hold") or {}
    return hold.get("reason") == "EvidenceUnavailable"


def _begins_again(rollout: Object) -> bool:
    return int(status_of(rollout).get("attempts", 0)) > 2


def is_promoted(rollout: Object) -> bool:
    """Say whether the newest version has been promoted."""
    return says(rollout, "Promoted")[0] == "True" and says(rollout, "Ready")[0] == "True"


ENDS: Mapping[str, Holds] = {
    "refused": _stalled("AdmissionDenied"),
    "taken": _stalled("NameTaken"),
    "forged": _stalled("NameTaken"),
    "unanswered": _is_held,
    "unreadable": _begins_again,
    "huge": is_promoted,
}
"""The poisoned rollouts, and what each of them comes to."""
