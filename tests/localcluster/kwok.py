"""Pretended nodes: KWOK answers for their kubelets, so a pod on them costs an API object and no container.

Such pods become Running and Ready at once, with an address, and go as soon as they are deleted. Nothing
listens at their addresses; these are local to the cluster's network namespace, so a connection is refused
at once, unless a test listens there for all of them. The real node is left to its kubelet: KWOK manages
only nodes with the annotation `kwok.x-k8s.io/node`.

The nodes bear a taint. Pods reach them by a toleration and a node selector of their own, or because their
namespace has the annotations of `NAMESPACE_ANNOTATIONS`: then all its pods go there, whoever makes them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from localcluster import bootstrap, programs
from localcluster import settings as where
from localcluster.components import Component

if TYPE_CHECKING:
    from pathlib import Path

    from localcluster.api import ApiClient
    from localcluster.settings import Settings

NAME = "kwok"
NODES = tuple(f"kwok{number}" for number in range(1, 5))
NODE_SELECTOR = {"type": NAME}
TOLERATION = {"key": "kwok.x-k8s.io/node", "operator": "Equal", "value": "fake", "effect": "NoSchedule"}
NAMESPACE_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/node-selector": f"type={NAME}",
    "scheduler.alpha.kubernetes.io/defaultTolerations": json.dumps([TOLERATION]),
}
"""Of a namespace, all of whose pods shall be pretended; read by two admission plugins of the API server."""

_ANNOTATION = {"kwok.x-k8s.io/node": "fake"}
_CAPACITY = {"cpu": "1000", "memory": "16Ti", "pods": "4000", bootstrap.GPU_RESOURCE: "4000"}
_STAGES = programs.KWOK_SOURCES / "stages.yaml"
_RIGHTS = [
    {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["nodes/status", "pods/status"], "verbs": ["patch"]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
]


def component(settings: Settings, built: Path) -> Component:
    """Return the command line of KWOK, whose program lies in the folder `built`."""
    (annotation,) = (f"{key}={value}" for key, value in _ANNOTATION.items())
    argv = (
        f"{built}/kwok",
        f"--kubeconfig={settings.state}/{NAME}.kubeconfig",
        f"--config={_STAGES}",
        f"--manage-nodes-with-annotation-selector={annotation}",
        f"--cidr={where.PRETENDED_SUBNET}",
        "--node-lease-duration-seconds=40",
    )
    return Component(NAME, argv)


def objects() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return (path, object) pairs to apply: what KWOK may do, and its nodes."""
    rights = (bootstrap.cluster_role(NAME, _RIGHTS), bootstrap.cluster_role_binding(NAME))
    return (*rights, *((f"/api/v1/nodes/{name}", _node(name)) for name in NODES))


def are_ready(api: ApiClient) -> bool:
    """Tell whether pods can be scheduled to each of the nodes that tolerate the taint."""
    return all(_is_ready(api.get(f"/api/v1/nodes/{name}")) for name in NODES)


def _is_ready(node: dict[str, Any] | None) -> bool:
    if node is None or [taint["key"] for taint in node["spec"]["taints"]] != [TOLERATION["key"]]:
        return False
    return bootstrap.has_ready_condition(node)


def _node(name: str) -> dict[str, Any]:
    taint = {key: TOLERATION[key] for key in ("key", "value", "effect")}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": _ANNOTATION,
            "labels": {**NODE_SELECTOR, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "spec": {"taints": [taint]},
        "status": {
            "capacity": _CAPACITY,
            "allocatable": _CAPACITY,
            "addresses": [{"type": "InternalIP", "address": where.NODE_ADDRESS}],
        },
    }
