"""One rollout on a playground: how people edit it, and all that an edit may change."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chaffinch.domain.names import COMPONENT_LABEL, REVISION_LABEL, ROLLOUT_LABEL
from crash.playground import END_SECONDS, NAME, RESOURCES, Object, path_of
from localcluster.api import ApiClient
from localcluster.kubectl import eventually
from stage.kubectl import condition

_CHILDREN = {
    **RESOURCES,
    "replicasets": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
}
"""All that is made for a rollout, by us and by controllers, except its pods."""

_FOLLOWING = frozenset({"endpointslices"})
"""What controllers write after Services and pods, some time after these: what it says may be of before."""

_BOOKKEEPING = frozenset({"resourceVersion", "managedFields"})


@dataclass(frozen=True)
class OneRollout:
    """A rollout as the administrator sees it.

    Attributes:
        api: The API server.
        namespace: Where it is.
        name: Its name.
    """

    api: ApiClient
    namespace: str
    name: str = NAME

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return path_of(self.namespace, self.name)

    def read(self) -> Object:
        """Return it as it is now."""
        found = self.api.get(self.path)
        assert found is not None, f"there is no rollout {self.name} in {self.namespace}"
        return found

    def apply(self, manifest: dict[str, Any]) -> None:
        """Create or change it, as ``kubectl apply`` does."""
        self.api.apply(self.path, manifest)

    def edit(self, document: dict[str, Any]) -> None:
        """Merge a few fields into it, as ``kubectl patch`` does."""
        self.api.merge(self.path, document)

    def until(self, holds: Callable[[Object], bool], what: str) -> Object:
        """Wait until something is so of it; return it."""
        return eventually(self.read, END_SECONDS, f"{self.name} {what}", holds=holds, show=_status)

    def until_observed(self) -> Object:
        """Wait until the operator has said something of its newest generation."""
        return self.until(is_observed, "observed")

    def until_ready(self) -> Object:
        """Wait until its newest generation serves."""
        return self.until(is_ready, "ready")

    def until_attempt(self, number: int) -> Object:
        """Wait until an attempt has begun."""
        return self.until(lambda one: one.get("status", {}).get("attempts", 0) >= number, f"at {number}")

    def children(self, resource: str) -> list[Object]:
        """Return its children of a kind, by name."""
        found = self.api.get(
            f"{_CHILDREN[resource]}/namespaces/{self.namespace}/{resource}?labelSelector={self._label}"
        )
        return sorted((found or {"items": []})["items"], key=lambda one: str(one["metadata"]["name"]))

    def child(self, resource: str, name: str) -> Object:
        """Return one of its children."""
        return next(one for one in self.children(resource) if one["metadata"]["name"] == name)

    def pods(self, component: str, revision: str | None = None) -> list[Object]:
        """Return its pods of a component, of one revision or of all; those on their way out are left out."""
        labels = f"{self._label},{COMPONENT_LABEL}={component}"
        if revision is not None:
            labels += f",{REVISION_LABEL}={revision}"
        found = self.api.get(f"/api/v1/namespaces/{self.namespace}/pods?labelSelector={labels}")
        assert found is not None
        return [one for one in found["items"] if "deletionTimestamp" not in one["metadata"]]

    def uids(self, component: str, revision: str | None = None) -> set[str]:
        """Return the uids of the same pods: a pod that is made anew has another."""
        return {_uid(one) for one in self.pods(component, revision)}

    def footprint(self) -> dict[str, str]:
        """Return all that is made for it, by kind and name, without what controllers say of it.

        Pods, and what follows them, are given by their uid.

        The route is among it, so an equal footprint also means that no weight was written.
        """
        found = {
            f"{resource} {one['metadata']['name']}": _uid(one) if resource in _FOLLOWING else _content(one)
            for resource in _CHILDREN
            for one in self.children(resource)
        }
        pods = {
            f"pods {one['metadata']['name']}": f"{_uid(one)} {_restarts(one)}"
            for component in ("engine", "router")
            for one in self.pods(component)
        }
        return {**found, **pods}

    @property
    def _label(self) -> str:
        return f"{ROLLOUT_LABEL}={self.name}"


def is_observed(rollout: Object) -> bool:
    """Say whether the newest generation was looked at."""
    return bool(rollout.get("status", {}).get("observedGeneration") == rollout["metadata"]["generation"])


def is_ready(rollout: Object) -> bool:
    """Say whether the newest generation serves."""
    return is_observed(rollout) and condition(rollout, "Ready").get("status") == "True"


def plan(rollout: Object) -> Mapping[str, Any]:
    """Return what the attempt that runs was begun with."""
    return dict(json.loads(rollout["status"]["rollout"]["plan"]))


def _uid(found: Object) -> str:
    return str(found["metadata"]["uid"])


def _content(found: Object) -> str:
    metadata = {name: value for name, value in found["metadata"].items() if name not in _BOOKKEEPING}
    return json.dumps({**found, "metadata": metadata, "status": None}, sort_keys=True)


def _restarts(pod: Object) -> str:
    return str([one["restartCount"] for one in pod.get("status", {}).get("containerStatuses", ())])


def _status(rollout: Object | None) -> str:
    return repr(rollout and rollout.get("status"))
