"""A probe's Job on a real cluster, and a baseline frozen from its result by the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from chaffinch.api.v1alpha1.parse import parse_baseline
from chaffinch.api.v1alpha1.profile import Output, ProbeProfileSpec, Prompt, Stage, WarmUp
from chaffinch.cli import main
from chaffinch.domain.baseline import verify
from chaffinch.probe.job import ProbeIdentity, probe_job
from chaffinch.probe.plan import plan_of
from chaffinch.probe.result import ProbeRecord, parse_record, status_result
from localcluster.fixtures import Kubectl, KubectlError, eventually

pytestmark = pytest.mark.cluster

IMAGE = "localhost/chaffinch:dev"
REVISION = "58be2000"
CRDS = Path(__file__).parents[2] / "crds"
PROFILE = ProbeProfileSpec(
    warm_up=WarmUp(requests=8, concurrency=4),
    stages=(Stage(name="gate", concurrency=4, requests=160, timeout="3m"),),
    gate_stage="gate",
    prompt=Prompt(tokens=32),
    output=Output(tokens=8),
    request_timeout="20s",
)
SECURE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
ENGINE: dict[str, Any] = {
    "name": "engine",
    "image": "localhost/vllm-sim:dev",
    "command": ["vllm", "serve"],
    "args": ["chat", "--port", "8000", "--sim-ttft-ms", "60", "--sim-itl-ms", "10"],
    "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 1},
    "resources": {"requests": {"cpu": "10m"}},
    "securityContext": SECURE,
}


@pytest.fixture
def restricted(namespace: str, kubectl: Kubectl) -> Kubectl:
    """kubectl in a namespace that admits only pods of the standard `restricted`, with our CRDs."""
    kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CRDS))
    return kubectl


def start_engine(kubectl: Kubectl) -> str:
    spec = {"containers": [ENGINE], "automountServiceAccountToken": False}
    kubectl.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "engine"}, "spec": spec})
    kubectl("wait", "--for=condition=Ready", "pod/engine", "--timeout=55s")
    return f"http://{kubectl.get('pod', 'engine')['status']['podIP']}:8000"


def create_probe(kubectl: Kubectl) -> ProbeIdentity:
    profile = PROFILE.model_dump(mode="json", by_alias=True, exclude_none=True)
    kubectl.apply(
        {
            "apiVersion": "chaffinch.dev/v1alpha1",
            "kind": "ProbeProfile",
            "metadata": {"name": "short"},
            "spec": profile,
        },
        {
            "apiVersion": "chaffinch.dev/v1alpha1",
            "kind": "LoadProbe",
            "metadata": {"name": "measure"},
            "spec": {"target": {"rollout": "chat", "revision": REVISION}, "profile": "short"},
        },
    )
    uid = kubectl.get("loadprobe", "measure")["metadata"]["uid"]
    return ProbeIdentity(kubectl.namespace, "measure", uid, "chat", REVISION)


def collect(address: str, uid: str) -> ProbeRecord:
    def result() -> str | None:
        try:
            reply = httpx.get(f"{address}/result", timeout=10)
        except httpx.TransportError:
            return None  # it runs, and has not begun to listen
        return reply.text if reply.status_code == 200 else None

    record = parse_record(eventually(result, 180, "the result"), probe_uid=uid, attempt=1)
    assert httpx.post(f"{address}/collected", timeout=10).status_code == 204
    return record


def keep(kubectl: Kubectl, record: ProbeRecord) -> None:
    """Do what the operator does with a result, and keep the revision that was measured."""
    status = {"phase": "Succeeded", "revision": REVISION, "finishedAt": "2026-03-01T12:00:00Z"}
    patch = json.dumps({"status": status | {"result": status_result(record).to_dict()}})
    kubectl("patch", "loadprobe", "measure", "--subresource=status", "--type=merge", "-p", patch)
    data = {
        "hashVersion": 1,
        "startupSeconds": 60,
        "spec": {"model": {"name": "chat", "source": "chat"}, "engine": {"image": ENGINE["image"]}},
        "template": {"spec": {"containers": [ENGINE]}},
    }
    kubectl.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {"name": f"chat-{REVISION}"},
            "revision": 1,
            "data": data,
        }
    )


def test_a_job_measures_and_its_result_becomes_a_baseline_that_nobody_can_change(
    restricted: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = create_probe(restricted)
    plan = plan_of(PROFILE, probe_uid=probe.uid, attempt=1, targets=(start_engine(restricted),), model="chat")
    restricted.apply(probe_job(plan, probe, IMAGE))

    def worker() -> str | None:
        pods = restricted.get("pods", "-l", "batch.kubernetes.io/job-name=measure")["items"]
        running = [pod for pod in pods if pod["status"]["phase"] == "Running"]
        return running[0]["status"]["podIP"] if running else None

    address = f"http://{eventually(worker, 60, 'the worker runs')}:9090"
    record = collect(address, probe.uid)
    (gate,) = record.stages
    assert (gate.requests, gate.errors, gate.stopped, record.engine_version) == (160, 0, None, "0.33.0")
    restricted("wait", "--for=condition=Complete", "job/measure", "--timeout=30s")

    keep(restricted, record)
    for name, value in restricted.cluster.inside(["kubectl"]).environment.items():
        monkeypatch.setenv(name, value)
    freeze = ["baseline", "freeze", "--probe", "measure", "--name", "chat", "--version", "v1"]
    assert main([*freeze, "-n", restricted.namespace]) == 0
    stored = restricted.get("inferencebaseline", "chat-v1")
    assert verify(parse_baseline(stored), "chat-v1") is None, "the API server keeps what was frozen"
    with pytest.raises(KubectlError, match="a baseline is frozen: create another version"):
        restricted(
            "patch",
            "inferencebaseline",
            "chat-v1",
            "--type=merge",
            "-p",
            '{"spec":{"fingerprint":{"gpuCount":8}}}',
        )
