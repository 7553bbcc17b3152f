"""The simulator's image in a real cluster: under PodSecurity `restricted`, behind Prometheus, and dying."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from localcluster.fixtures import Kubectl, eventually
from traffic.maker import TrafficMaker
from traffic.profile import Profile

if TYPE_CHECKING:
    from localcluster import Cluster

pytestmark = pytest.mark.cluster

_SECONDS = 60.0
_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def _engine(*arguments: str) -> dict[str, Any]:
    container = {
        "name": "engine",
        "image": "localhost/vllm-sim:dev",  # loaded by `localcluster load-image vllm-sim`
        "imagePullPolicy": "Never",
        "command": ["vllm", "serve"],
        "args": ["example/chat-1b", "--served-model-name", "chat", "--port", "8000", *arguments],
        "ports": [{"name": "metrics", "containerPort": 8000}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 1},
        "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "10m"}},
        "securityContext": _RESTRICTED,
    }
    spec = {"containers": [container], "automountServiceAccountToken": False}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "engine"}, "spec": spec}


@pytest.fixture
def restricted(namespace: str, kubectl: Kubectl) -> Kubectl:
    """kubectl in a namespace that admits only pods of the standard `restricted`."""
    kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    return kubectl


def _await_ready(kubectl: Kubectl) -> str:
    """Wait for the engine; returns the address that it serves on."""
    kubectl("wait", "--for=condition=Ready", "pod/engine", f"--timeout={_SECONDS:.0f}s")
    return f"http://{kubectl.get('pod', 'engine')['status']['podIP']}:8000"


async def test_it_serves_users_and_prometheus_under_the_strictest_standard(
    cluster: Cluster, namespace: str, restricted: Kubectl
) -> None:
    restricted.apply(_engine("--sim-ttft-ms", "20", "--sim-itl-ms", "5"))
    root = _await_ready(restricted)
    profile = Profile(url=root, model="chat", rate=20, seconds=10, max_requests=60, max_tokens=8)
    users = (await TrafficMaker(profile).run()).to_json()
    assert (users["requests"], users["failures"], users["tokens"]) == (60, {}, 480)

    query = f'vllm:generation_tokens_total{{namespace="{namespace}",model_name="chat",engine="0"}}'
    url = f"{cluster.prometheus_url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"

    def scraped() -> list[Any]:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return [sample["value"][1] for sample in json.load(reply)["data"]["result"]]

    eventually(lambda: scraped() == ["480"], _SECONDS, "Prometheus has counted every token")


def test_it_goes_quickly_when_its_pod_is_deleted(restricted: Kubectl) -> None:
    restricted.apply(_engine())
    _await_ready(restricted)
    started = time.monotonic()
    restricted("delete", "pod", "engine", "--grace-period=30")
    assert time.monotonic() - started < 15


def test_a_crash_loop_is_one_for_kubernetes(restricted: Kubectl) -> None:
    restricted.apply(_engine("--sim-crash-at-start"))

    def crashed() -> dict[str, Any] | None:
        (status,) = restricted.get("pod", "engine")["status"].get("containerStatuses") or [{}]
        terminated: dict[str, Any] | None = status.get("lastState", {}).get("terminated")
        return terminated

    assert eventually(crashed, _SECONDS, "the engine has been restarted")["exitCode"] == 1


def test_a_misspelt_argument_ends_the_container_with_code_2(restricted: Kubectl) -> None:
    restricted.apply(_engine("--max-num-sequences", "8"))

    def ended() -> bool:
        (status,) = restricted.get("pod", "engine")["status"].get("containerStatuses") or [{}]
        state = status.get("lastState", {}).get("terminated") or status.get("state", {}).get("terminated")
        return bool(state) and state["exitCode"] == 2

    eventually(ended, _SECONDS, "the engine has ended with code 2")
    reason = "unrecognized arguments: --max-num-sequences 8"
    eventually(lambda: reason in restricted("logs", "engine"), _SECONDS, "the log says why")
