"""What the components are told: the parts that a test or an invariant relies on."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from localcluster import components, configs, kwok
from localcluster.components import Binaries
from localcluster.settings import Settings

_SETTINGS = Settings(name="trial", state=Path("/state"), cache=Path("/cache"))
_BINARIES = Binaries(Path("/built"), Path("/unpacked"))


def test_containerd_keeps_everything_below_the_state_folder() -> None:
    read = tomllib.loads(configs.containerd(_SETTINGS, Path("/unpacked")))
    cri = read["plugins"]["io.containerd.grpc.v1.cri"]
    runc = cri["containerd"]["runtimes"]["runc"]["options"]

    assert {read["root"], read["state"]} == {"/state/containerd/root", "/state/containerd/state"}
    assert read["grpc"]["address"] == "/state/containerd/containerd.sock"
    assert cri["netns_mounts_under_state_dir"]
    assert cri["restrict_oom_score_adj"]
    assert runc == {
        "BinaryName": "/unpacked/usr/sbin/runc",
        "Root": "/state/containerd/runc",
        "SystemdCgroup": False,
    }


def test_the_kubelet_stays_in_the_clusters_own_cgroup() -> None:
    read = json.loads(configs.kubelet(_SETTINGS, "/localcluster-trial"))
    assert (read["cgroupRoot"], read["failCgroupV1"], read["enforceNodeAllocatable"]) == (
        "/localcluster-trial",
        False,
        [],
    )
    assert read["clusterDNS"] == ["10.96.0.10"]


def test_the_kubelet_runs_what_is_put_into_the_state_folder() -> None:
    read = json.loads(configs.kubelet(_SETTINGS, "/localcluster-trial"))
    assert read["staticPodPath"] == str(_SETTINGS.static_pods) == "/state/static-pods"


def _audit_level(*, user: str, groups: list[str], verb: str, group: str, resource: str) -> str:
    """Apply the policy as the API server does: the first rule that matches decides."""
    for rule in json.loads(configs.audit_policy())["rules"]:
        if "nonResourceURLs" in rule:
            continue
        kinds = rule.get("resources")
        matches = (
            user in rule.get("users", [user])
            and ("userGroups" not in rule or set(groups) & set(rule["userGroups"]))
            and verb in rule.get("verbs", [verb])
            and (
                kinds is None
                or any(
                    kind["group"] == group and resource in kind.get("resources", [resource]) for kind in kinds
                )
            )
        )
        if matches:
            return str(rule["level"])
    return "None"


_OPERATOR = {"user": "system:serviceaccount:chaffinch:chaffinch", "groups": ["system:serviceaccounts"]}
_NODE = {"user": "system:node:node1", "groups": ["system:nodes"]}
_SCHEDULER = {"user": "system:kube-scheduler", "groups": ["system:authenticated"]}


@pytest.mark.parametrize(
    ("who", "verb", "group", "resource", "want_level"),
    [
        (_OPERATOR, "patch", "", "configmaps", "RequestResponse"),
        (_OPERATOR, "patch", "chaffinch.dev", "inferencerollouts/status", "RequestResponse"),
        (_OPERATOR, "update", "coordination.k8s.io", "leases", "RequestResponse"),
        (_OPERATOR, "list", "", "pods", "Metadata"),
        (_OPERATOR, "get", "", "secrets", "Metadata"),
        (_OPERATOR, "create", "", "secrets", "Metadata"),
        (_OPERATOR, "create", "", "serviceaccounts/token", "Metadata"),
        (_NODE, "patch", "", "pods/status", "RequestResponse"),
        (_NODE, "update", "coordination.k8s.io", "leases", "None"),
        (_NODE, "get", "", "secrets", "None"),
        (_SCHEDULER, "create", "", "pods/binding", "RequestResponse"),
        (_SCHEDULER, "watch", "", "pods", "None"),
    ],
)
def test_the_audit_log_keeps_writes_whole_and_secrets_never(
    who: dict[str, object], verb: str, group: str, resource: str, want_level: str
) -> None:
    assert _audit_level(**who, verb=verb, group=group, resource=resource) == want_level  # type: ignore[arg-type]


def test_prometheus_scrapes_only_the_port_named_metrics_of_pods_that_run() -> None:
    (job,) = json.loads(configs.prometheus(_SETTINGS))["scrape_configs"]
    assert [(rule.get("action"), rule.get("regex")) for rule in job["relabel_configs"]] == [
        ("keep", "metrics"),
        ("drop", "Succeeded|Failed"),
        ("drop", "kwok.*"),
        (None, None),
        (None, None),
    ]
    assert [rule["target_label"] for rule in job["relabel_configs"][3:]] == ["namespace", "pod"]


def test_every_component_has_a_name_of_its_own_and_a_program_that_is_ours() -> None:
    everything = [
        *components.foundation(_SETTINGS, _BINARIES),
        *components.after_api_server(_SETTINGS, _BINARIES),
        *components.after_node(_SETTINGS, _BINARIES),
    ]
    assert len({component.name for component in everything}) == len(everything) == 9
    assert {Path(component.argv[0]).parents[-2] for component in everything} == {
        Path("/built"),
        Path("/unpacked"),
    }


def test_kwok_manages_the_nodes_with_its_annotation_and_no_others() -> None:
    argv = kwok.component(_SETTINGS, Path("/built")).argv
    nodes = [document for path, document in kwok.objects() if document["kind"] == "Node"]
    (selector,) = (word.partition("=")[2] for word in argv if word.startswith("--manage-"))
    key, _, value = selector.partition("=")
    assert [node["metadata"]["name"] for node in nodes] == list(kwok.NODES)
    assert {node["metadata"]["annotations"][key] for node in nodes} == {value}


def test_only_pods_that_tolerate_it_come_to_a_pretended_node() -> None:
    nodes = [document for _, document in kwok.objects() if document["kind"] == "Node"]
    wanted = [{key: kwok.TOLERATION[key] for key in ("key", "value", "effect")}]
    assert all(node["spec"]["taints"] == wanted for node in nodes)
    annotations = kwok.NAMESPACE_ANNOTATIONS
    assert json.loads(annotations["scheduler.alpha.kubernetes.io/defaultTolerations"]) == [kwok.TOLERATION]
    key, _, value = annotations["scheduler.alpha.kubernetes.io/node-selector"].partition("=")
    assert {key: value} == kwok.NODE_SELECTOR
