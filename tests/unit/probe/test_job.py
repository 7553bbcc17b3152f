from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.profile import WarmUp
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES
from chaffinch.probe.job import ProbeIdentity, probe_job
from chaffinch.probe.plan import plan_of

SMOKE_V1 = BUILT_IN_PROFILES["smoke/v1"]
PROBE = ProbeIdentity(
    namespace="llm", name="chat-7c9f1e20-a1-s1", uid="1b2c", rollout="chat", revision="7c9f1e20"
)
PLAN = plan_of(SMOKE_V1, probe_uid="1b2c", attempt=1, targets=("http://10.1.2.3:8000",), model="org/chat")
LABELS = {
    "app.kubernetes.io/managed-by": "chaffinch",
    "app.kubernetes.io/component": "probe",
    "chaffinch.dev/rollout": "chat",
    "chaffinch.dev/revision": "7c9f1e20",
}
POD = {
    "restartPolicy": "Never",
    "automountServiceAccountToken": False,
    "enableServiceLinks": False,
    "terminationGracePeriodSeconds": 5,
    "securityContext": {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "imagePullSecrets": [{"name": "registry"}, {"name": "mirror"}],
    "containers": [
        {
            "name": "probe",
            "image": "registry.example/chaffinch:1",
            "command": ["python", "-m", "chaffinch.probe"],
            "args": ["--plan", PLAN.to_json(), "--port", "9090", "--collect-seconds", "600"],
            "ports": [{"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
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
    ],
}


def test_the_job_is_complete_restricted_and_tried_once() -> None:
    assert probe_job(PLAN, PROBE, "registry.example/chaffinch:1", ("registry", "mirror")) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "chat-7c9f1e20-a1-s1",
            "namespace": "llm",
            "labels": LABELS,
            "ownerReferences": [
                {
                    "apiVersion": "chaffinch.dev/v1alpha1",
                    "kind": "LoadProbe",
                    "name": "chat-7c9f1e20-a1-s1",
                    "uid": "1b2c",
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": {
            "completionMode": "Indexed",
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": 300 + (4 * 30 + 120 + 600) + 600,
            "ttlSecondsAfterFinished": 3600,
            "template": {
                "metadata": {"labels": LABELS},
                "spec": POD,
            },
        },
    }


def test_a_warm_up_is_a_job_too() -> None:
    plan = plan_of(
        WarmUp(requests=20, concurrency=4),
        probe_uid="1b2c",
        attempt=1,
        targets=("http://10.1.2.3:8000",),
        model="org/chat",
    )
    job = probe_job(plan, PROBE, "i")
    assert job["kind"] == "Job"
    assert "imagePullSecrets" not in str(job)


def test_a_plan_of_another_probe_is_refused() -> None:
    with pytest.raises(ValueError, match="made for probe 1b2c, not for other"):
        probe_job(PLAN, ProbeIdentity("llm", "n", "other", "chat", "7c9f1e20"), "i")
