"""Argo Rollouts as the subject of the measurement: a peer on the same cluster, with its own defaults.

Each Rollout has as many pods as one of ours. Its new version gets a weight and a pause: no analysis, for
its queries are its users' own. Active means that it has pods of both versions and waits in the pause, so the
controller judges nothing meanwhile, and ours does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bench.scale.argo_build import PROGRAM, TITLE
from bench.scale.audit import AuditTail
from bench.scale.controller import ControllerProcess, kubeconfig
from bench.scale.fleet import IMAGE, REPLICAS, Fleet, Kind, Object
from bench.scale.measurement import AuditedCalls, Subject, Targets, Watched
from localcluster import Settings
from localcluster.api import ApiClient
from localcluster.progress import Progress
from localcluster.settings import API_URL
from stage.kubectl import Kubectl

_NAMESPACE = "argo-rollouts"
"""Where the controller looks for its Lease and settings when nothing else is said."""
_NAME = "argo-rollouts"
_USER = f"system:serviceaccount:{_NAMESPACE}:{_NAME}"
_GROUP = "argoproj.io/v1alpha1"
_HEALTH_PORT = 18082
_METRICS_PORT = 18090
_PAUSE_STEP = 1


def kind(pause_seconds: int) -> Kind:
    """Return what the fleet is made of; a new version pauses for so many seconds."""

    def manifest(namespace: str, name: str, version: int) -> dict[str, Any]:
        return rollout(namespace, name, version, pause_seconds)

    return Kind(f"/apis/{_GROUP}", "rollouts", "argo", manifest, is_healthy, is_in_canary)


def rollout(namespace: str, name: str, version: int, pause_seconds: int) -> dict[str, Any]:
    """Return the Rollout of a version."""
    labels = {"app": name}
    container = {
        "name": "engine",
        "image": IMAGE,
        "args": [f"--seed={version}"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    steps = [{"setWeight": 20}, {"pause": {"duration": f"{pause_seconds}s"}}]
    return {
        "apiVersion": _GROUP,
        "kind": "Rollout",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            "strategy": {"canary": {"steps": steps}},
        },
    }


def is_healthy(rollout: Object) -> bool:
    """Tell whether a Rollout serves the version of its spec and has nothing left to do."""
    status = rollout.get("status") or {}
    # It writes the generation as text.
    if status.get("observedGeneration") != str(rollout["metadata"]["generation"]):
        return False
    return status.get("phase") == "Healthy"


def is_in_canary(rollout: Object) -> bool:
    """Tell whether a Rollout has a pod of its new version and waits in the pause."""
    status = rollout.get("status") or {}
    in_pause = status.get("phase") == "Paused" and status.get("currentStepIndex") == _PAUSE_STEP
    return in_pause and bool(status.get("updatedReplicas"))


@contextmanager
def subject(
    settings: Settings, built: Path, size: int, pause_seconds: int, progress: Progress
) -> Iterator[Subject]:
    """Start the controller that lies in the folder `built`; it is ended afterwards.

    Raises:
        KubectlError: If the API server refuses what is needed.
        ControllerEndedError: If it does not become ready.
    """
    token = _installed(built / "crds")
    with (
        _controller(settings, built / PROGRAM, token) as process,
        closing(AuditTail(settings.audit_log, _USER)) as writes,
        closing(AuditTail(settings.audit_log, _USER)) as calls,
    ):
        fleet = Fleet(ApiClient(settings.pki), kind(pause_seconds), size, progress)
        watched = Watched(process, AuditedCalls(calls))
        yield Subject(TITLE, "its controller", watched, fleet, writes, Targets(), tells_passes=False)


def _installed(crds: Path) -> str:
    """Install the CRDs and a ServiceAccount that may do everything; return a token of it."""
    kubectl = Kubectl(_NAMESPACE)
    kubectl("apply", "--server-side", f"--filename={crds}")
    group = "rbac.authorization.k8s.io"
    kubectl.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _NAME}},
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _NAME},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": _NAME, "namespace": _NAMESPACE}],
        },
    )
    kubectl("wait", "--for=condition=Established", f"--filename={crds}", "--timeout=60s")
    return kubectl("create", "token", _NAME, "--duration=12h").strip()


@contextmanager
def _controller(settings: Settings, program: Path, token: str) -> Iterator[ControllerProcess]:
    path = settings.state / "bench-argo-rollouts.kubeconfig"
    path.write_text(kubeconfig(API_URL, settings.pki / "ca.crt", token))
    argv = (
        str(program),
        f"--kubeconfig={path}",
        f"--healthzPort={_HEALTH_PORT}",
        f"--metricsPort={_METRICS_PORT}",
    )
    log = settings.state / "bench-argo-rollouts.log"
    process = ControllerProcess(TITLE, argv, {}, log, f"http://127.0.0.1:{_HEALTH_PORT}/healthz")
    try:
        process.until_ready()
        yield process
    finally:
        process.stop()
