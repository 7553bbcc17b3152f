"""The objects that every cluster of this kind starts with: DNS Service, read rights, pretended GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from localcluster import settings as where

if TYPE_CHECKING:
    from localcluster.api import ApiClient

GPU_RESOURCE = "nvidia.com/gpu"
NODE_PATH = f"/api/v1/nodes/{where.NODE_NAME}"

_DNS_PORTS = (
    {"name": "dns", "port": 53, "protocol": "UDP"},
    {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
)
_READS = {
    "coredns": [
        {"apiGroups": [""], "resources": ["namespaces", "services", "pods"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ],
    "prometheus": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}],
}


def objects() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return (path, object) pairs to apply.

    The DNS Service has no selector: CoreDNS runs beside the pods, on the node's address, so its
    EndpointSlice is made here.
    """
    found = [_dns_service(), _dns_endpoints()]
    for name, rules in _READS.items():
        found += [cluster_role(name, rules), cluster_role_binding(name)]
    return tuple(found)


def set_gpus(api: ApiClient, count: int) -> None:
    """Advertise `count` GPUs on the node: an extended resource, which the real scheduler then enforces."""
    resources = {GPU_RESOURCE: str(count)}
    api.merge(f"{NODE_PATH}/status", {"status": {"capacity": resources, "allocatable": resources}})


def is_schedulable(node: dict[str, Any] | None) -> bool:
    """Tell whether pods can start on the node: it is Ready and bears no taint of its start-up any more."""
    if node is None or node["spec"].get("taints"):
        return False
    return has_ready_condition(node)


def has_ready_condition(node: dict[str, Any]) -> bool:
    """Tell whether the node's kubelet, or who answers for it, calls it Ready."""
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", ()))


def cluster_role(name: str, rules: list[dict[str, list[str]]]) -> tuple[str, dict[str, Any]]:
    """Return the (path, object) of what the component `name` may do in the whole cluster."""
    return f"/apis/rbac.authorization.k8s.io/v1/clusterroles/localcluster:{name}", {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"localcluster:{name}"},
        "rules": rules,
    }


def cluster_role_binding(name: str) -> tuple[str, dict[str, Any]]:
    """Return the (path, object) that gives the user `system:NAME` the role of the component `name`."""
    group = "rbac.authorization.k8s.io"
    return f"/apis/{group}/v1/clusterrolebindings/localcluster:{name}", {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"localcluster:{name}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": f"localcluster:{name}"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": f"system:{name}"}],
    }


def _dns_service() -> tuple[str, dict[str, Any]]:
    return "/api/v1/namespaces/kube-system/services/kube-dns", {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kube-dns"},
        "spec": {"clusterIP": where.DNS_SERVICE_ADDRESS, "ports": list(_DNS_PORTS)},
    }


def _dns_endpoints() -> tuple[str, dict[str, Any]]:
    return "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices/kube-dns", {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "kube-dns", "labels": {"kubernetes.io/service-name": "kube-dns"}},
        "addressType": "IPv4",
        "ports": list(_DNS_PORTS),
        "endpoints": [{"addresses": [where.NODE_ADDRESS], "conditions": {"ready": True}}],
    }
