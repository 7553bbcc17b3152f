"""What all manifests of engines share: metadata, selector, ports."""

from __future__ import annotations

from typing import Any

from chaffinch.domain.names import (
    COMPONENT_LABEL,
    REVISION_LABEL,
    ROLLOUT_LABEL,
    RolloutIdentity,
    child_labels,
    owner_reference,
)

Manifest = dict[str, Any]
ENGINE = "engine"
ENGINE_PORT = 8000


def metadata(rollout: RolloutIdentity, name: str, component: str, revision: str) -> Manifest:
    """Return a child's metadata: derived name, our labels and no one else's, the rollout as its owner."""
    return {
        "name": name,
        "namespace": rollout.namespace,
        "labels": child_labels(rollout.name, component, revision),
        "ownerReferences": [owner_reference(rollout)],
    }


def engine_selector(rollout: str, revision: str) -> dict[str, str]:
    """Return the labels that select a revision's engine pods.

    The component is among them because the pods of load probes carry the same rollout and revision.
    No label says which revision is stable: a promotion would have to change it.
    """
    return {COMPONENT_LABEL: ENGINE, ROLLOUT_LABEL: rollout, REVISION_LABEL: revision}
