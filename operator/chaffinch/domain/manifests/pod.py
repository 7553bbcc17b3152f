"""Builds the pod template of a revision's engine.

It is rendered once, when the revision is made, and frozen in its ControllerRevision: a later version
of this file restarts no pod.
"""

from __future__ import annotations

from pydantic import BaseModel

from chaffinch.api.v1alpha1.engine import EnvVar, PodSpec
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.strategy import startup_seconds
from chaffinch.domain.manifests.common import ENGINE, ENGINE_PORT, Manifest
from chaffinch.domain.manifests.engine_args import COMMAND, engine_arguments
from chaffinch.domain.names import child_labels

LEAVING_SECONDS = 20
"""How long a pod that is asked to stop still serves as before: routers drop it within that time."""
GRACE_SECONDS = 110
"""How long a pod may take to stop: ``LEAVING_SECONDS``, then what the engine takes to end its answers.
An engine that aborts them, as vLLM does without ``--shutdown-timeout``, is gone much sooner. Not more,
because the deletion of a namespace looks again only after half of its pods' longest grace period."""
STARTUP_PERIOD_SECONDS = 5
SHARED_MEMORY = "shared-memory"
SHARED_MEMORY_PATH = "/dev/shm"  # noqa: S108 - where engines look for shared memory, no temporary file


def pod_template(rollout: str, revision: str, spec: InferenceRolloutSpec) -> Manifest:
    """Return the pod template of a revision.

    Args:
        rollout: Name of the rollout.
        revision: The revision that ``spec`` stands for.
        spec: The rollout's spec.
    """
    pod = spec.pod or PodSpec()
    return {
        "metadata": {"labels": child_labels(rollout, ENGINE, revision)},
        "spec": _without_empty(
            {
                # Kubernetes' own variables for a Service named vllm would be read as the engine's.
                "enableServiceLinks": False,
                "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": GRACE_SECONDS,
                "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [_container(spec, pod)],
                "volumes": _volumes(pod),
                "nodeSelector": pod.node_selector,
                "tolerations": [_plain(each) for each in pod.tolerations],
                "priorityClassName": pod.priority_class_name,
                "runtimeClassName": pod.runtime_class_name,
                "imagePullSecrets": [_plain(each) for each in pod.image_pull_secrets],
            }
        ),
    }


def _container(spec: InferenceRolloutSpec, pod: PodSpec) -> Manifest:
    health = {"httpGet": {"path": "/health", "port": ENGINE_PORT}}
    attempts = -(-startup_seconds(spec) // STARTUP_PERIOD_SECONDS)
    return _without_empty(
        {
            "name": ENGINE,
            "image": spec.engine.image,
            "command": COMMAND,
            "args": engine_arguments(spec),
            "env": [_env(each) for each in spec.engine.env],
            "ports": [{"name": "http", "containerPort": ENGINE_PORT, "protocol": "TCP"}],
            "resources": _plain(pod.resources) if pod.resources else None,
            "startupProbe": {
                **health,
                "periodSeconds": STARTUP_PERIOD_SECONDS,
                "timeoutSeconds": 3,
                "failureThreshold": attempts,
            },
            "readinessProbe": {**health, "periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 2},
            # An engine under load answers late; only one that is silent for a minute is restarted.
            "livenessProbe": {**health, "periodSeconds": 10, "timeoutSeconds": 10, "failureThreshold": 6},
            "lifecycle": {"preStop": {"sleep": {"seconds": LEAVING_SECONDS}}},
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": SHARED_MEMORY, "mountPath": SHARED_MEMORY_PATH}]
            if pod.shm_size
            else [],
        }
    )


def _volumes(pod: PodSpec) -> list[Manifest]:
    if pod.shm_size is None:
        return []
    return [{"name": SHARED_MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": str(pod.shm_size)}}]


def _env(variable: EnvVar) -> Manifest:
    if variable.value_from is not None:
        return {"name": variable.name, "valueFrom": _plain(variable.value_from)}
    return {"name": variable.name, "value": variable.value or ""}


def _plain(model: BaseModel) -> Manifest:
    dumped: Manifest = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def _without_empty(fields: Manifest) -> Manifest:
    return {name: value for name, value in fields.items() if value is not None and value != []}
