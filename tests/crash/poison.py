"""Rollouts that go as badly as a rollout can, to see that no other one notices (I11).

Each kind is something that a user, or whoever may write in a namespace, can do to a rollout that serves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.manifests.common import ENGINE
from chaffinch.domain.names import ROLLOUT_LABEL, RolloutIdentity, child_labels, owner_reference
from chaffinch.domain.revision import revision_of
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
        looks: How often :meth:`look` was called.
    """

    playground: Playground
    namespace: str
    looks: int = field(default=0, init=False)

    def begin(self) -> None:
        """Do what is done once."""
        self._forge_a_revision("forged")
        self._take_a_name("taken")
        self._ask_for_half_a_device("refused")
        for name in ("forged", "unanswered", "unreadable", "huge"):
            apply(self.playground, version(self.namespace, name, 2))

    def look(self) -> None:
        """Do what is done again and again, as soon as the operator has mended it."""
        self.looks += 1
        with suppress(OSError):  # somebody else may be writing
            self._garble_the_plan("unreadable")
        with suppress(OSError):
            self._write_much("huge")

    @contextmanager
    def unanswered(self) -> Iterator[None]:
        """Let Prometheus hang for one of the rollouts for the length of the block."""
        uids = {self._rollout("unanswered")["metadata"]["uid"]}
        with scripted(self.playground.stage.script, unanswered=uids):
            yield

    def _forge_a_revision(self, name: str) -> None:
        """Make an object that looks like the next revision, and is nothing that the operator can read."""
        identity = RolloutIdentity(self.namespace, name, self._rollout(name)["metadata"]["uid"])
        revision = revision_of(parse_rollout(version(self.namespace, name, 2)))
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

    def _take_a_name(self, name: str) -> None:
        second = version(self.namespace, name, 2)
        taken = revision_name(name, revision_of(parse_rollout(second)))
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": taken},
            "spec": {"ports": [{"port": 1}]},
        }
        self.playground.api.apply(f"/api/v1/namespaces/{self.namespace}/services/{taken}", service)
        apply(self.playground, second)

    def _ask_for_half_a_device(self, name: str) -> None:
        """No rule of ours knows that Kubernetes counts foreign resources in whole numbers."""
        second = version(self.namespace, name, 2)
        second["spec"]["pod"]["resources"]["limits"]["example.com/device"] = "0.5"
        apply(self.playground, second)

    def _garble_the_plan(self, name: str) -> None:
        if status_of(self._rollout(name)).get("rollout"):
            self.playground.api.merge(f"{self._path(name)}/status", {"status": {"rollout": {"plan": "{"}}})

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
