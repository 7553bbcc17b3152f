"""Status writes as JSON patches that compare before they change anything.

A rollout's status says who wrote it last (leadership epoch, number of the write). The next write tests both,
so that of two writers one loses, also when one of them slept through its own leadership. The very first write
has no writer to compare with and tests the resource version instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from chaffinch.api.v1alpha1.status import RolloutStatus, Writer
from chaffinch.ports.cluster import Manifest, PatchOperation


def rollout_patch(body: Manifest, status: Mapping[str, Any]) -> list[PatchOperation]:
    """Return the patch that replaces a rollout's status.

    Args:
        body: The object as it was read in this pass.
        status: The whole new status, with its new writer.
    """
    writer = writer_of(body)
    if writer is None:
        return versioned_patch(body, status)
    return [
        _test("/metadata/uid", body["metadata"]["uid"]),
        _test("/status/writer/epoch", writer.epoch),
        _test("/status/writer/sequence", writer.sequence),
        _put(status),
    ]


def versioned_patch(body: Manifest, status: Mapping[str, Any]) -> list[PatchOperation]:
    """Return the patch that replaces a status if the object has not changed at all since it was read."""
    return [
        _test("/metadata/uid", body["metadata"]["uid"]),
        _test("/metadata/resourceVersion", body["metadata"]["resourceVersion"]),
        _put(status),
    ]


def stored_status(body: Manifest) -> RolloutStatus | None:
    """Return the status that a rollout has; None if it has none, or one that cannot be understood.

    A status that somebody edited, or that another version wrote, is as good as lost: what serves is then
    read from the route.
    """
    stored = body.get("status")
    try:
        return RolloutStatus.model_validate(stored) if stored else None
    except ValidationError:
        return None


def writer_of(body: Manifest) -> Writer | None:
    """Return who wrote a rollout's status last, if that can be told."""
    try:
        return Writer.model_validate((body.get("status") or {}).get("writer"))
    except ValidationError:
        return None


def _test(path: str, value: object) -> PatchOperation:
    return {"op": "test", "path": path, "value": value}


def _put(status: Mapping[str, Any]) -> PatchOperation:
    return {"op": "add", "path": "/status", "value": dict(status)}
