"""The local cluster is a real one: what is claimed of it is tried here."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from localcluster import settings as where
from localcluster.fixtures import Kubectl, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from localcluster import Cluster

pytestmark = pytest.mark.cluster

_IMAGE = "localhost/envoy:dev"  # any image with Python in it; loaded by `localcluster load-image envoy`
_POD_SECONDS = 60.0
_GPU = "nvidia.com/gpu"


def _pod(name: str, *command: str, **container: object) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": _IMAGE, "command": list(command), **container}],
        },
    }


def _web_server(name: str, port: int) -> dict[str, Any]:
    ports = [{"name": "metrics", "containerPort": port}]
    probe = {"tcpSocket": {"port": port}, "periodSeconds": 1}
    return _pod(name, "python3", "-m", "http.server", str(port), ports=ports, readinessProbe=probe)


def _phase(kubectl: Kubectl, name: str) -> str:
    return str(kubectl.get("pod", name)["status"]["phase"])


def _run(kubectl: Kubectl, name: str, *command: str) -> str:
    """Run `command` in a pod to its end and return its log."""
    kubectl.apply(_pod(name, *command))
    eventually(lambda: _phase(kubectl, name) in {"Succeeded", "Failed"}, _POD_SECONDS, f"pod {name} ends")
    return kubectl("logs", name)


def _await_ready(kubectl: Kubectl, name: str) -> None:
    kubectl("wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={_POD_SECONDS:.0f}s")


def _audit_events(cluster: Cluster, namespace: str) -> Iterator[dict[str, Any]]:
    assert cluster.audit_log is not None
    with cluster.audit_log.open() as log:
        for line in log:
            event = json.loads(line)
            if event.get("objectRef", {}).get("namespace") == namespace:
                yield event


def test_a_pod_runs_and_its_log_can_be_read(kubectl: Kubectl) -> None:
    assert _run(kubectl, "greeter", "python3", "-c", "print(6 * 7)") == "42\n"


def test_a_command_can_be_executed_in_a_running_pod(kubectl: Kubectl) -> None:
    kubectl.apply(_web_server("host", 8000))
    _await_ready(kubectl, "host")
    assert kubectl("exec", "host", "--", "cat", "/etc/hostname") == "host\n"


def _gpus_held(kubectl: Kubectl) -> int:
    """Return how many GPUs the pods of the node hold, those included that other tests have just deleted."""
    return sum(
        int(container["resources"].get("limits", {}).get(_GPU, 0))
        for pod in kubectl.get("pods", "--all-namespaces")["items"]
        if pod["spec"].get("nodeName") == where.NODE_NAME and pod["status"]["phase"] in {"Pending", "Running"}
        for container in pod["spec"]["containers"]
    )


def _refusals(kubectl: Kubectl) -> dict[str, str]:
    """Return why the scheduler finds no node for a pod, by the pod's name."""
    return {
        pod["metadata"]["name"]: condition["message"]
        for pod in kubectl.get("pods")["items"]
        for condition in pod["status"].get("conditions", [])
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    }


def test_the_scheduler_hands_out_each_gpu_once(kubectl: Kubectl) -> None:
    """One pod more than there are GPUs, since pods of earlier tests may free theirs at any moment."""
    gpus = int(kubectl.get("node", where.NODE_NAME)["status"]["allocatable"][_GPU])
    one = {"resources": {"limits": {_GPU: "1"}}}
    names = {f"gpu-{number}" for number in range(gpus + 1)}
    kubectl.apply(*(_pod(name, "sleep", "600", **one) for name in sorted(names)))

    def all_decided() -> dict[str, str] | None:
        refused = _refusals(kubectl)
        running = {name for name in names if _phase(kubectl, name) == "Running"}
        return refused if refused.keys() | running == names else None

    refused = eventually(all_decided, _POD_SECONDS, "each pod runs or is refused")
    assert all(f"Insufficient {_GPU}" in message for message in refused.values())
    assert _gpus_held(kubectl) <= gpus

    kubectl("delete", "pod", min(names - refused.keys()))
    eventually(lambda: refused.keys() - _refusals(kubectl).keys(), 10, "a GPU that comes free is handed out")


def test_a_service_is_reached_by_its_name_from_pods_and_from_the_tests(
    kubectl: Kubectl, namespace: str
) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8000}]},
    }
    kubectl.apply(_web_server("web", 8000), service)
    _await_ready(kubectl, "web")
    fetch = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).status)"

    assert _run(kubectl, "short", "python3", "-c", fetch, "http://web") == "200\n"
    assert (
        _run(kubectl, "full", "python3", "-c", fetch, f"http://web.{namespace}.svc.cluster.local") == "200\n"
    )
    with urllib.request.urlopen(f"http://web.{namespace}.svc", timeout=10) as response:
        assert response.status == 200


def test_a_pod_has_an_identity_of_its_own_and_no_rights_but_those_given(
    kubectl: Kubectl, namespace: str
) -> None:
    account = f"system:serviceaccount:{namespace}:default"
    assert (
        kubectl("auth", "whoami", f"--as={account}", "-o", "jsonpath={.status.userInfo.username}") == account
    )
    with pytest.raises(Exception, match="forbidden"):
        kubectl("get", "pods", f"--as={account}")


def test_the_audit_log_holds_who_wrote_what_but_no_secret(
    cluster: Cluster, kubectl: Kubectl, namespace: str
) -> None:
    kubectl.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"weight": "25"}}
    )
    kubectl("patch", "configmap", "kept", "--type=merge", "-p", '{"data": {"weight": "50"}}')
    kubectl("create", "secret", "generic", "hidden", "--from-literal=token=b4n4n4")

    events = list(_audit_events(cluster, namespace))
    writes = [
        event for event in events if event["objectRef"].get("name") == "kept" and event["verb"] == "patch"
    ]
    assert [event["responseObject"]["data"]["weight"] for event in writes] == ["25", "50"]
    assert writes[1]["requestObject"] == {"data": {"weight": "50"}}
    assert {event["user"]["username"] for event in writes} == {"admin"}
    assert all(event["userAgent"].startswith("kubectl/") for event in writes)

    secret = [event for event in events if event["objectRef"]["resource"] == "secrets"]
    assert [(event["verb"], event["level"]) for event in secret] == [("create", "Metadata")]
    assert "b4n4n4" not in json.dumps(events)


def test_prometheus_scrapes_the_port_named_metrics_and_names_its_pod(
    cluster: Cluster, kubectl: Kubectl, namespace: str
) -> None:
    kubectl.apply(_web_server("scraped", 9090))
    _await_ready(kubectl, "scraped")
    query = urllib.parse.urlencode({"query": f'up{{namespace="{namespace}"}}'})

    def targets() -> list[dict[str, str]]:
        with urllib.request.urlopen(f"{cluster.prometheus_url}/api/v1/query?{query}", timeout=5) as reply:
            return [series["metric"] for series in json.load(reply)["data"]["result"]]

    assert [(found["namespace"], found["pod"]) for found in eventually(targets, 30, "a scrape")] == [
        (namespace, "scraped")
    ]


def test_prometheus_is_reached_from_pods(cluster: Cluster, kubectl: Kubectl) -> None:
    fetch = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).status)"
    assert _run(kubectl, "asker", "python3", "-c", fetch, f"{cluster.prometheus_url}/-/ready") == "200\n"


def test_the_number_of_gpus_can_be_changed(cluster: Cluster, kubectl: Kubectl) -> None:
    def capacity() -> str:
        return str(kubectl.get("node", where.NODE_NAME)["status"]["allocatable"][_GPU])

    try:
        cluster.set_gpus(4)
        assert capacity() == "4"
    finally:
        cluster.set_gpus(where.DEFAULT_GPUS)
    assert capacity() == str(where.DEFAULT_GPUS)
