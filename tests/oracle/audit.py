"""Audit events of the API server, as the writes that they record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

WRITE_VERBS = frozenset({"create", "update", "patch", "delete"})


@dataclass(frozen=True, slots=True)
class Write:
    """One write that the API server accepted.

    Attributes:
        at: When it was stored.
        user: The authenticated user, e.g. ``system:serviceaccount:chaffinch:chaffinch``.
        verb: create, update, patch or delete.
        resource: The plural name, with its subresource after a slash, e.g. ``deployments/status``.
        namespace: The object's namespace; empty for cluster objects.
        name: The object's name.
        stored: The object as it was stored; empty after a delete.
    """

    at: datetime
    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    stored: Mapping[str, Any]


def read_writes(path: Path, namespace: str) -> list[Write]:
    """Return the accepted writes of one namespace from an audit log, oldest first."""
    with path.open(encoding="utf-8") as lines:
        return sorted(parse(lines, namespace), key=lambda write: write.at)


def denied(path: Path, user: str, since: datetime, until: datetime | None = None) -> list[str]:
    """Return what a user's roles did not grant, as ``verb resource`` without repeats.

    A refusal by admission (a quota, a namespace that is being deleted) is no missing grant.

    Args:
        path: The audit log.
        user: The user.
        since: From when on refusals count.
        until: Until when they do; for ever if None.
    """
    found: dict[str, None] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n") or user not in line:
                continue
            event = json.loads(line)
            forbidden = event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"
            at = datetime.fromisoformat(event["stageTimestamp"])
            counts = since <= at and (until is None or at < until)
            if forbidden and counts and event["user"]["username"] == user:
                resource = event["objectRef"]["resource"] if "objectRef" in event else event["requestURI"]
                found[f"{event['verb']} {resource}"] = None
    return list(found)


def parse(lines: Iterable[str], namespace: str) -> Iterator[Write]:
    """Yield the accepted writes of one namespace from the lines of an audit log.

    A last line that is still being written is passed over; any other broken line is an error.
    """
    for line in lines:
        if not line.endswith("\n"):
            return
        event = json.loads(line)
        reference = event.get("objectRef") or {}
        accepted = event.get("responseStatus", {}).get("code", 0) < 300
        if (
            event["stage"] != "ResponseComplete"
            or event["verb"] not in WRITE_VERBS
            or not accepted
            or reference.get("namespace") != namespace
        ):
            continue
        yield _write_of(event, reference)


def _write_of(event: Mapping[str, Any], reference: Mapping[str, str]) -> Write:
    stored = event.get("responseObject") or {}
    subresource = reference.get("subresource")
    return Write(
        at=datetime.fromisoformat(event["stageTimestamp"]),
        user=event["user"]["username"],
        verb=event["verb"],
        resource=reference["resource"] + (f"/{subresource}" if subresource else ""),
        namespace=reference["namespace"],
        name=reference.get("name") or stored.get("metadata", {}).get("name", ""),
        stored={} if event["verb"] == "delete" else stored,
    )
