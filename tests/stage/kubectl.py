"""kubectl as the demo and end-to-end stories use it: it applies as users do, and waits with a deadline."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localcluster import current, kubectl
from localcluster.kubectl import KubectlError, NotInTimeError, eventually

__all__ = ["Kubectl", "KubectlError", "NotInTimeError", "Object", "condition", "has_condition"]

Object = Mapping[str, Any]

POLL_SECONDS = 1.0
_COMMAND_SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl in one namespace of the cluster that is up."""

    namespace: str

    def __call__(self, *words: str, stdin: str | None = None) -> str:
        """Return what ``kubectl WORDS`` prints.

        Raises:
            KubectlError: With what kubectl said, when it ends with an error.
        """
        run = kubectl.Kubectl(current(), self.namespace)
        return run(*words, stdin=stdin, timeout=_COMMAND_SECONDS)

    def apply(self, *objects: Object) -> None:
        """Apply objects, as ``kubectl apply -f`` does."""
        for document in objects:
            self("apply", "--filename=-", stdin=json.dumps(document))

    def get(self, kind: str, name: str) -> Object | None:
        """Return one object, or None if there is none."""
        text = self("get", kind, name, "--ignore-not-found", "--output=json")
        return json.loads(text) if text else None

    def list(self, kinds: str, *selector: str) -> Sequence[Object]:
        """Return all objects of some kinds."""
        items: list[Object] = json.loads(self("get", kinds, *selector, "--output=json"))["items"]
        return items

    def until(
        self, kind: str, name: str, holds: Callable[[Object], bool], *, seconds: float, what: str
    ) -> Object:
        """Poll one object until ``holds`` of it and return it then.

        Raises:
            NotInTimeError: With the object's conditions, when the time is over.
        """
        return eventually(
            lambda: self.get(kind, name), seconds, f"{kind}/{name} is {what}", POLL_SECONDS,
            holds=holds, show=_summary,
        )  # fmt: skip


def condition(document: Object, kind: str) -> Mapping[str, Any]:
    """Return a condition of an object; empty if it has none of that type."""
    conditions = (document.get("status") or {}).get("conditions") or ()
    return next((entry for entry in conditions if entry["type"] == kind), {})


def says(document: Object, kind: str) -> tuple[str | None, str | None]:
    """Return status and reason of a condition; two times None if there is none of that type."""
    found = condition(document, kind)
    return found.get("status"), found.get("reason")


def has_condition(document: Object, kind: str, status: str, reason: str | None = None) -> bool:
    """Say whether a condition holds, and was set for the object's present generation."""
    found = condition(document, kind)
    return (
        found.get("status") == status
        and (reason is None or found.get("reason") == reason)
        and found.get("observedGeneration") == document["metadata"]["generation"]
    )


def _summary(found: Object | None) -> str:
    if found is None:
        return "there is no such object"
    conditions = (found.get("status") or {}).get("conditions") or ()
    lines = [
        f"{entry['type']}={entry['status']}/{entry.get('reason')}: {entry.get('message')}"
        for entry in conditions
    ]
    return "; ".join(lines) or "it has no conditions"
