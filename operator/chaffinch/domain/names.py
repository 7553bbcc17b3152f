"""Who a rollout is, and what its children are called.

Names are derived, never stored, so that every place that refers to a child (a selector, an owner
reference, a ConfigMap key, a metric) derives the same one. The rollout's own name has at most 40
characters and a revision has 8, which keeps every name below the 63 that Kubernetes allows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MANAGED_BY = "chaffinch"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
COMPONENT_LABEL = "app.kubernetes.io/component"
ROLLOUT_LABEL = "chaffinch.dev/rollout"
REVISION_LABEL = "chaffinch.dev/revision"
API_VERSION = "chaffinch.dev/v1alpha1"

_REVISION = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class RolloutIdentity:
    """One rollout object, told apart from a later one of the same name by its uid."""

    namespace: str
    name: str
    uid: str


def engine_name(rollout: str, revision: str) -> str:
    """Name a revision's ControllerRevision, Deployment, Service and PodDisruptionBudget."""
    return f"{rollout}-{revision}"


def router_name(rollout: str) -> str:
    """Name everything of the router but the Service that clients use (that has the rollout's name)."""
    return f"{rollout}-router"


def probe_name(rollout: str, revision: str, attempt: int, step: int, attempt_of_step: int = 1) -> str:
    """Name the LoadProbe of a step; a repeated one (``attempt_of_step`` > 1) says so."""
    again = f"-{attempt_of_step}" if attempt_of_step > 1 else ""
    return f"{rollout}-{revision}-a{attempt}-s{step}{again}"


def warm_up_name(rollout: str, revision: str, attempt: int, serial: int) -> str:
    """Name the ``serial``-th LoadProbe (from 1) that warms pods in an attempt."""
    return f"{rollout}-{revision}-a{attempt}-w{serial}"


def is_revision(text: str) -> bool:
    """Say whether a text has the form of a revision: 8 lower-case hexadecimal digits."""
    return _REVISION.fullmatch(text) is not None


def child_labels(rollout: str, component: str, revision: str | None = None) -> dict[str, str]:
    """Return the labels of a child; nothing is ever copied from the rollout object itself."""
    labels = {MANAGED_BY_LABEL: MANAGED_BY, COMPONENT_LABEL: component, ROLLOUT_LABEL: rollout}
    return labels if revision is None else labels | {REVISION_LABEL: revision}


def owner_reference(rollout: RolloutIdentity) -> dict[str, object]:
    """Return the controller reference that makes a child go when its rollout goes."""
    return {
        "apiVersion": API_VERSION,
        "kind": "InferenceRollout",
        "name": rollout.name,
        "uid": rollout.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
