"""Commands as people create them, and their answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from chaffinch.ports.cluster import Kinds
from fakes.cluster import FakeCluster
from fakes.virtual_time import START
from fakes.world import NAME, NAMESPACE

REVISION = "0a1b2c3d"


def command(
    name: str,
    action: str = "Abort",
    *,
    rollout: str = NAME,
    revision: str = REVISION,
    created: datetime = START,
    **fields: object,
) -> dict[str, Any]:
    """Return a RolloutCommand by alice; its uid is its name, so that tests can speak of it."""
    return {
        "apiVersion": Kinds.COMMAND.api_version,
        "kind": Kinds.COMMAND.kind,
        "metadata": {
            "namespace": NAMESPACE,
            "name": name,
            "uid": name,
            "creationTimestamp": created.isoformat(),
        },
        "spec": {
            "rollout": rollout,
            "revision": revision,
            "action": action,
            "requestedBy": "alice",
            **fields,
        },
    }


def answer_to(cluster: FakeCluster, name: str) -> tuple[str | None, str | None]:
    """Return outcome and reason of a command; None and None while it has no answer."""
    status = cluster.read(Kinds.COMMAND, NAMESPACE, name).get("status", {})
    return status.get("outcome"), status.get("reason")
