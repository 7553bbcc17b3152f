"""The router's pod: Envoy, and its agent as a sidecar that starts before it and ends after it.

The agent writes Envoy's bootstrap before Envoy starts, and counts Envoy's last log lines after it
has ended; that is why it is an init container with ``restartPolicy: Always``. When the pod ends,
the agent's hook makes Envoy close each connection after the answer that it waits for, and Envoy's
hook holds it until nothing is left to answer.
"""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.names import router_name
from chaffinch.domain.names import RolloutIdentity
from chaffinch.routing.settings import (
    AGENT_PORT,
    AGENT_PORT_NAME,
    TRAFFIC_PORT,
    TRAFFIC_PORT_NAME,
    Resources,
    RouterSettings,
)

RUN = "/run/chaffinch"
_USER = 65532
_LOG_FLUSH_MILLIS = 500
_AFTER_DRAIN_SECONDS = 30
_TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path
_TOKEN_SECONDS = 3607


def pod_spec(rollout: RolloutIdentity, settings: RouterSettings, selector: dict[str, str]) -> dict[str, Any]:
    """Return the spec of a router pod.

    Args:
        rollout: Whose router it is.
        settings: The administrator's settings.
        selector: The labels of all router pods of the rollout, which are spread over nodes.
    """
    spec: dict[str, Any] = {
        "serviceAccountName": router_name(rollout.name),
        # The token is for the agent alone; it is mounted there by hand.
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": settings.drain_seconds + _AFTER_DRAIN_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector},
            }
        ],
        "initContainers": [_agent(rollout, settings)],
        "containers": [_envoy(settings)],
        "volumes": _volumes(),
    }
    if settings.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    return spec


def _agent(rollout: RolloutIdentity, settings: RouterSettings) -> dict[str, Any]:
    command = ["python", "-m", "chaffinch.agent"]
    return {
        "name": "agent",
        "image": settings.agent_image,
        "restartPolicy": "Always",
        "command": [*command, "serve"],
        "env": _agent_environment(rollout, settings),
        "ports": [{"name": AGENT_PORT_NAME, "containerPort": AGENT_PORT, "protocol": "TCP"}],
        "startupProbe": {**_get("/healthz"), "periodSeconds": 1, "failureThreshold": 120},
        "livenessProbe": {**_get("/healthz"), "periodSeconds": 10, "timeoutSeconds": 5},
        "readinessProbe": {**_get("/readyz"), "periodSeconds": 2, "timeoutSeconds": 2},
        "lifecycle": {"preStop": {"exec": {"command": [*command, "drain"]}}},
        "resources": _resources(settings.agent),
        "securityContext": _locked_down(),
        "volumeMounts": [
            *_shared_mounts(),
            {"name": "token", "mountPath": _TOKEN_MOUNT, "readOnly": True},
        ],
    }


def _agent_environment(rollout: RolloutIdentity, settings: RouterSettings) -> list[dict[str, Any]]:
    values = {
        "NAMESPACE": rollout.namespace,
        "ROLLOUT": rollout.name,
        "ROLLOUT_UID": rollout.uid,
        "RUN": RUN,
        "TRAFFIC_PORT": str(TRAFFIC_PORT),
        "PORT": str(AGENT_PORT),
        "DRAIN_SECONDS": str(settings.drain_seconds),
    }
    return [
        *({"name": f"CHAFFINCH_AGENT_{name}", "value": value} for name, value in values.items()),
        {"name": "CHAFFINCH_AGENT_POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]


def _envoy(settings: RouterSettings) -> dict[str, Any]:
    return {
        "name": "envoy",
        "image": settings.envoy_image,
        "command": [
            "envoy",
            "--config-path",
            f"{RUN}/config/bootstrap.json",
            "--log-level",
            "warning",
            "--concurrency",
            str(settings.envoy_threads),
            "--disable-hot-restart",
            "--file-flush-interval-msec",
            str(_LOG_FLUSH_MILLIS),
        ],
        "ports": [{"name": TRAFFIC_PORT_NAME, "containerPort": TRAFFIC_PORT, "protocol": "TCP"}],
        # Envoy listens only once it has a route with all that belongs to it.
        "readinessProbe": {"tcpSocket": {"port": TRAFFIC_PORT_NAME}, "periodSeconds": 2, "timeoutSeconds": 2},
        "lifecycle": {"preStop": {"httpGet": {"path": "/drained", "port": AGENT_PORT}}},
        "resources": _resources(settings.envoy),
        "securityContext": _locked_down(),
        "volumeMounts": _shared_mounts(),
    }


def _get(path: str) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": AGENT_PORT_NAME}}


def _resources(resources: Resources) -> dict[str, Any]:
    return {
        "requests": {"cpu": resources.cpu, "memory": resources.memory},
        "limits": {"memory": resources.memory_limit},
    }


def _locked_down() -> dict[str, Any]:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def _shared_mounts() -> list[dict[str, Any]]:
    return [{"name": name, "mountPath": f"{RUN}/{name}"} for name in ("config", "log")]


def _volumes() -> list[dict[str, Any]]:
    # Two volumes, so that a log that nobody reads cannot keep a new configuration from being written.
    return [
        {"name": "config", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        {"name": "log", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
        {
            "name": "token",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "token", "expirationSeconds": _TOKEN_SECONDS}},
                    {
                        "configMap": {
                            "name": "kube-root-ca.crt",
                            "items": [{"key": "ca.crt", "path": "ca.crt"}],
                        }
                    },
                ]
            },
        },
    ]
