"""The built-in router of a rollout: two Envoys with their agents, and what they need around them.

Everything here is a pure function of the rollout's identity and the administrator's settings. The
route itself is in a ConfigMap of its own (:func:`route_config_map`), so that a change of weights
never touches a pod.
"""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.names import router_name, service_name
from chaffinch.domain.names import (
    COMPONENT_LABEL,
    ROLLOUT_LABEL,
    RolloutIdentity,
    child_labels,
    owner_reference,
)
from chaffinch.routing.pinning import TEMPLATE_ANNOTATION, template_digest
from chaffinch.routing.pod import pod_spec
from chaffinch.routing.route import ROUTE_KEY, Route, route_json
from chaffinch.routing.settings import TRAFFIC_PORT_NAME, RouterSettings

COMPONENT = "router"
SERVICE_PORT = 80

Manifest = dict[str, Any]


def router_manifests(rollout: RolloutIdentity, settings: RouterSettings) -> tuple[Manifest, ...]:
    """Return every object of a rollout's router but its route, in the order of their making."""
    return (
        _object(
            rollout, "v1", "ServiceAccount", router_name(rollout.name), automountServiceAccountToken=False
        ),
        _role(rollout),
        _role_binding(rollout),
        _service(rollout),
        _disruption_budget(rollout),
        _deployment(rollout, settings),
    )


def route_config_map(rollout: RolloutIdentity, route: Route) -> Manifest:
    """Return the ConfigMap that carries the route to the routers."""
    return _object(rollout, "v1", "ConfigMap", router_name(rollout.name), data={ROUTE_KEY: route_json(route)})


def router_selector(rollout: str) -> dict[str, str]:
    """Return the labels by which a rollout's router pods are found."""
    return {ROLLOUT_LABEL: rollout, COMPONENT_LABEL: COMPONENT}


def _object(rollout: RolloutIdentity, api_version: str, kind: str, name: str, **content: object) -> Manifest:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": rollout.namespace,
            "labels": child_labels(rollout.name, COMPONENT),
            "ownerReferences": [owner_reference(rollout)],
        },
        **content,
    }


def _role(rollout: RolloutIdentity) -> Manifest:
    name = router_name(rollout.name)
    reading = ["get", "list", "watch"]
    return _object(
        rollout,
        "rbac.authorization.k8s.io/v1",
        "Role",
        name,
        rules=[
            {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name], "verbs": reading},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": reading},
        ],
    )


def _role_binding(rollout: RolloutIdentity) -> Manifest:
    name = router_name(rollout.name)
    return _object(
        rollout,
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        name,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        subjects=[{"kind": "ServiceAccount", "name": name, "namespace": rollout.namespace}],
    )


def _service(rollout: RolloutIdentity) -> Manifest:
    return _object(
        rollout,
        "v1",
        "Service",
        service_name(rollout.name),
        spec={
            "selector": router_selector(rollout.name),
            "ports": [
                {"name": "http", "protocol": "TCP", "port": SERVICE_PORT, "targetPort": TRAFFIC_PORT_NAME}
            ],
        },
    )


def _disruption_budget(rollout: RolloutIdentity) -> Manifest:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": router_selector(rollout.name)}}
    return _object(rollout, "policy/v1", "PodDisruptionBudget", router_name(rollout.name), spec=spec)


def _deployment(rollout: RolloutIdentity, settings: RouterSettings) -> Manifest:
    selector = router_selector(rollout.name)
    template = {
        "metadata": {"labels": child_labels(rollout.name, COMPONENT)},
        "spec": pod_spec(rollout, settings, selector),
    }
    made = _object(
        rollout,
        "apps/v1",
        "Deployment",
        router_name(rollout.name),
        spec={
            "replicas": settings.replicas,
            "revisionHistoryLimit": 1,
            "minReadySeconds": 5,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "selector": {"matchLabels": selector},
            "template": template,
        },
    )
    made["metadata"]["annotations"] = {TEMPLATE_ANNOTATION: template_digest(template)}
    return made
