"""Many rollouts side by side: applied one after another, waited for all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from crash.playground import END_SECONDS, GROUP, Object, Playground, path_of
from kwokstage import Script
from localcluster.kubectl import eventually

Place = tuple[str, str]
"""Namespace and name of a rollout."""
Holds = Callable[[Object], bool]
"""Says of a rollout whether something is so."""

_POLL_SECONDS = 0.5  # each look lists whole namespaces


@contextmanager
def scripted(script: Script, **changes: object) -> Iterator[None]:
    """Change attributes of a script for the length of the block."""
    before = {name: getattr(script, name) for name in changes}
    _set(script, changes)
    try:
        yield
    finally:
        _set(script, before)


def _set(script: Script, changes: Mapping[str, object]) -> None:
    for name, value in changes.items():
        setattr(script, name, value)


def apply(playground: Playground, manifest: Mapping[str, Any]) -> None:
    """Apply a rollout, as a user does."""
    metadata = manifest["metadata"]
    playground.api.apply(path_of(metadata["namespace"], metadata["name"]), dict(manifest))


def rollouts(playground: Playground, namespaces: set[str]) -> dict[Place, Object]:
    """Return all rollouts of some namespaces."""
    lists = {
        namespace: playground.api.get(f"{GROUP}/namespaces/{namespace}/inferencerollouts")
        for namespace in namespaces
    }
    return {
        (namespace, item["metadata"]["name"]): item
        for namespace, found in lists.items()
        for item in (found or {"items": ()})["items"]
    }


def until_all(
    playground: Playground,
    awaited: Mapping[Place, Holds],
    what: str,
    *,
    seconds: float = END_SECONDS,
    meanwhile: Callable[[], None] = lambda: None,
) -> dict[Place, Object]:
    """Wait until each rollout is where it is awaited, with something done at every look.

    Returns:
        All rollouts of their namespaces.
    """
    found: dict[Place, Object] = {}

    def missing() -> dict[Place, object]:
        meanwhile()
        found.update(rollouts(playground, {namespace for namespace, _ in awaited}))
        absent: Object = {}
        return {
            place: found.get(place, absent).get("status")
            for place, holds in awaited.items()
            if place not in found or not holds(found[place])
        }

    eventually(missing, seconds, what, _POLL_SECONDS, holds=lambda left: not left)
    return found


def status_of(rollout: Object) -> Mapping[str, Any]:
    """Return a rollout's status; empty if it has none."""
    return rollout.get("status") or {}


def says(rollout: Object, kind: str) -> tuple[str, str]:
    """Return status and reason of a condition of the newest generation; empty texts without it."""
    generation = rollout["metadata"]["generation"]
    for found in status_of(rollout).get("conditions", ()):
        if found["type"] == kind and found.get("observedGeneration") == generation:
            return found["status"], found["reason"]
    return "", ""


def is_ready(rollout: Object) -> bool:
    """Say whether the newest generation serves."""
    return says(rollout, "Ready")[0] == "True"
