"""Pretended nodes: pods that cost no container, beside a node that runs real ones."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

import pytest

from localcluster import kwok
from localcluster import settings as where
from localcluster.fixtures import Kubectl, eventually

if TYPE_CHECKING:
    from localcluster import Cluster

pytestmark = pytest.mark.cluster

_SECONDS = 30.0
_IMAGE = "localhost/of-no-one:1"


def _deployment(replicas: int, **pod: object) -> dict[str, Any]:
    labels = {"app": "pretended"}
    limits = {"limits": {"nvidia.com/gpu": "8"}}
    containers = [{"name": "main", "image": _IMAGE, "resources": limits}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "pretended"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers, **pod}},
        },
    }


def _pods(kubectl: Kubectl) -> list[dict[str, Any]]:
    return list(kubectl.get("pods")["items"])


def _await_ready(kubectl: Kubectl, replicas: int) -> list[dict[str, Any]]:
    def ready() -> bool:
        status = kubectl.get("deployment", "pretended")["status"]
        return bool(status.get("readyReplicas", 0) == replicas)

    eventually(ready, _SECONDS, f"{replicas} pretended pods are Ready")
    return _pods(kubectl)


def test_pods_pinned_to_pretended_nodes_become_ready_with_an_address_and_go_when_scaled_to_zero(
    kubectl: Kubectl,
) -> None:
    kubectl.apply(_deployment(20, nodeSelector=kwok.NODE_SELECTOR, tolerations=[kwok.TOLERATION]))
    pods = _await_ready(kubectl, 20)

    assert {pod["spec"]["nodeName"] for pod in pods} <= set(kwok.NODES)
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    assert all(pod["status"]["containerStatuses"][0]["ready"] for pod in pods)
    addresses = {ipaddress.ip_address(pod["status"]["podIP"]) for pod in pods}
    assert len(addresses) == 20
    assert all(address in ipaddress.ip_network(where.PRETENDED_SUBNET) for address in addresses)

    kubectl("scale", "deployment", "pretended", "--replicas=0")
    eventually(lambda: not _pods(kubectl), _SECONDS, "the pods are gone")


def test_every_pod_of_a_pretended_namespace_is_pretended(pretended_kubectl: Kubectl) -> None:
    pretended_kubectl.apply(_deployment(3))
    assert {pod["spec"]["nodeName"] for pod in _await_ready(pretended_kubectl, 3)} <= set(kwok.NODES)


def test_a_pod_that_asks_for_nothing_stays_on_the_real_node(cluster: Cluster, kubectl: Kubectl) -> None:
    kubectl.apply(_deployment(1, containers=[{"name": "main", "image": _IMAGE}]))

    def node() -> str | None:
        return next((pod["spec"].get("nodeName") for pod in _pods(kubectl)), None)

    assert eventually(node, _SECONDS, "the pod is scheduled") == where.NODE_NAME
    managed = Kubectl(cluster, "default").get("node", where.NODE_NAME)["metadata"].get("annotations", {})
    assert "kwok.x-k8s.io/node" not in managed
