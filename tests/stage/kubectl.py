"""kubectl, as tests use it: objects in, objects out, and waiting with a deadline."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]

POLL_SECONDS = 1.0


class KubectlError(Exception):
    """kubectl ended with an error; the text is what it said."""


class NotInTimeError(AssertionError):
    """Something did not come true before its deadline."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl in one namespace."""

    namespace: str

    def run(self, *args: str, stdin: str | None = None) -> str:
        """Run kubectl and return what it printed.

        Raises:
            KubectlError: With what kubectl said, when it ends with an error.
        """
        done = subprocess.run(
            ["kubectl", "--namespace", self.namespace, *args],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        if done.returncode:
            raise KubectlError(done.stderr.strip())
        return done.stdout

    def apply(self, *objects: Object) -> None:
        """Apply objects, as ``kubectl apply -f`` does."""
        for document in objects:
            self.run("apply", "--filename=-", stdin=json.dumps(document))

    def get(self, kind: str, name: str) -> Object | None:
        """Return one object, or None if there is none."""
        text = self.run("get", kind, name, "--ignore-not-found", "--output=json")
        return json.loads(text) if text else None

    def list(self, kinds: str, *selector: str) -> Sequence[Object]:
        """Return all objects of some kinds."""
        items: list[Object] = json.loads(self.run("get", kinds, *selector, "--output=json"))["items"]
        return items

    def until(
        self, kind: str, name: str, holds: Callable[[Object], bool], *, seconds: float, what: str
    ) -> Object:
        """Poll one object until ``holds`` of it and return it then.

        Raises:
            NotInTimeError: With the object's conditions, when the time is over.
        """
        deadline = time.monotonic() + seconds
        while True:
            found = self.get(kind, name)
            if found is not None and holds(found):
                return found
            if time.monotonic() > deadline:
                raise NotInTimeError(f"{kind}/{name} is not {what} after {seconds:.0f} s: {_summary(found)}")
            time.sleep(POLL_SECONDS)


def condition(document: Object, kind: str) -> Mapping[str, str]:
    """Return a condition of an object; empty if it has none of that type."""
    conditions = (document.get("status") or {}).get("conditions") or ()
    return next((entry for entry in conditions if entry["type"] == kind), {})


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
