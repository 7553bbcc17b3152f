"""Builds the Job that runs one plan: pure, from values to a manifest.

The Job never tries again (``backoffLimit: 0``): a second worker beside the first would double the load
that is being measured, and which of two results counts must not be a matter of luck. The whole plan is
an argument, so that the pod needs no ConfigMap, no token and no right at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaffinch.api.v1alpha1.common import API_VERSION
from chaffinch.domain.names import child_labels
from chaffinch.probe.plan import ProbePlan, longest_seconds
from chaffinch.probe.server import PORT

COMPONENT = "probe"
START_SECONDS = 300
COLLECT_SECONDS = 600
KEEP_SECONDS = 3600

_USER = 65532


@dataclass(frozen=True, slots=True)
class ProbeIdentity:
    """Whose Job it is.

    Attributes:
        namespace: Namespace of the LoadProbe.
        name: Name of the LoadProbe, and of its Job.
        uid: Uid of the LoadProbe.
        rollout: The rollout that is measured.
        revision: The revision that is measured.
    """

    namespace: str
    name: str
    uid: str
    rollout: str
    revision: str


def probe_job(
    plan: ProbePlan, probe: ProbeIdentity, image: str, pull_secrets: tuple[str, ...] = ()
) -> dict[str, object]:
    """Return the Job of a LoadProbe.

    Args:
        plan: What to run; its ``probeUid`` must be the probe's.
        probe: Whose Job it is.
        image: The image of Chaffinch.
        pull_secrets: Names of Secrets of the namespace with which the image is pulled.

    Raises:
        PlanError: If the plan is too long for an argument.
        ValueError: If the plan is another probe's.
    """
    if plan.probe_uid != probe.uid:
        raise ValueError(f"the plan is made for probe {plan.probe_uid}, not for {probe.uid}")
    labels = child_labels(probe.rollout, COMPONENT, probe.revision)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": probe.name,
            "namespace": probe.namespace,
            "labels": labels,
            "ownerReferences": [_owner(probe)],
        },
        "spec": {
            "completionMode": "Indexed",
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": job_seconds(plan),
            "ttlSecondsAfterFinished": KEEP_SECONDS,
            "template": {"metadata": {"labels": labels}, "spec": _pod(plan, image, pull_secrets)},
        },
    }


def job_seconds(plan: ProbePlan) -> int:
    """Return after how many seconds the Job of a plan is ended, done or not."""
    return START_SECONDS + longest_seconds(plan) + COLLECT_SECONDS


def _owner(probe: ProbeIdentity) -> dict[str, object]:
    return {
        "apiVersion": API_VERSION,
        "kind": "LoadProbe",
        "name": probe.name,
        "uid": probe.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def _pod(plan: ProbePlan, image: str, pull_secrets: tuple[str, ...]) -> dict[str, object]:
    pod: dict[str, object] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(plan, image)],
    }
    if pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in pull_secrets]
    return pod


def _container(plan: ProbePlan, image: str) -> dict[str, object]:
    return {
        "name": "probe",
        "image": image,
        "command": ["python", "-m", "chaffinch.probe"],
        "args": ["--plan", plan.to_json(), "--port", str(PORT), "--collect-seconds", str(COLLECT_SECONDS)],
        "ports": [{"name": "metrics", "containerPort": PORT, "protocol": "TCP"}],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "1", "memory": "1Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
