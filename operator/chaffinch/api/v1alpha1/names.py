"""The names of a rollout's children: derived, stable, at most 63 characters, valid for their kind.

A rollout's name has at most 40 characters and a revision 8, so none of these is ever cut.
"""

from __future__ import annotations


def router_name(rollout: str) -> str:
    """Return the name of the router's Deployment, ConfigMap, ServiceAccount, Role and so on."""
    return f"{rollout}-router"


def service_name(rollout: str) -> str:
    """Return the name of the Service that clients use."""
    return rollout


def revision_name(rollout: str, revision: str) -> str:
    """Return the name of a revision's ControllerRevision, Deployment, Service and disruption budget."""
    return f"{rollout}-{revision}"


def load_probe_name(rollout: str, revision: str, *, attempt: int, step: int) -> str:
    """Return the name of the LoadProbe that the operator makes for a step (counted from 0)."""
    return f"{rollout}-{revision}-a{attempt}-s{step}"


def record_name(rollout: str, revision: str, *, attempt: int) -> str:
    """Return the name of the RolloutRecord of an attempt."""
    return f"{rollout}-{revision}-a{attempt}"


def baseline_object_name(name: str, version: str) -> str:
    """Return the name of the InferenceBaseline object that holds one version of a baseline."""
    return f"{name}-{version}"
