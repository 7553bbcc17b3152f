"""The configuration files of the components, as pure functions from settings to text.

Most are YAML to the programs that read them; they are written as JSON, which is YAML too and needs no
library.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from localcluster import settings as where

if TYPE_CHECKING:
    from pathlib import Path

    from localcluster.settings import Settings

PAUSE_IMAGE = "localhost/pause:1"
SCRAPE_SECONDS = 5


def containerd(settings: Settings, unpacked: Path) -> str:
    """Return containerd's TOML. Its differences from the default, and why:

    * `restrict_oom_score_adj`: without CAP_SYS_RESOURCE each sandbox would fail to start;
    * network namespaces of pods are mounted below the state folder, so `down` finds them by path.
    """
    folder = settings.state / "containerd"
    return f"""version = 2
root = "{folder}/root"
state = "{folder}/state"
[grpc]
  address = "{settings.containerd_socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{unpacked}/usr/lib/cni"
    conf_dir = "{settings.state}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "{unpacked}/usr/sbin/runc"
      Root = "{folder}/runc"
      SystemdCgroup = false
"""


def cni(settings: Settings) -> str:
    """Return the pod network: a bridge in the cluster's namespace, each pod reachable from all others."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": where.POD_SUBNET}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": str(settings.state / "ipam"),
        },
    }
    return json.dumps(
        {"cniVersion": "1.0.0", "name": f"localcluster-{settings.name}", "plugins": [bridge]}, indent=1
    )


def kubelet(settings: Settings, cgroup: str) -> str:
    """Return the KubeletConfiguration: works on cgroup v1 and on a full disk, never enforces on the host."""
    document = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": f"unix://{settings.containerd_socket}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(settings.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(settings.pki / "node.crt"),
        "tlsPrivateKeyFile": str(settings.pki / "node.key"),
        "clusterDomain": "cluster.local",
        "clusterDNS": [where.DNS_SERVICE_ADDRESS],
        "failSwapOn": False,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
            "nodefs.inodesFree": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "podLogsDir": str(settings.state / "pod-logs"),
        "serializeImagePulls": False,
        "staticPodPath": str(settings.static_pods),
        "syncFrequency": "10s",
    }
    return json.dumps(document, indent=1)


def audit_policy() -> str:
    """Return the audit policy. The log is the oracle of the end-to-end tests, so it keeps:

    * each write with the object sent and the object that resulted, status and ConfigMaps included;
    * who read what, without bodies, to check that granted rights are used and nothing is refused;
    * of Secrets and tokens, only that they were touched.

    Left out is the noise of the components: their reads and lease renewals.
    """
    components = ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]
    components += ["system:kube-proxy", "system:coredns", "system:prometheus", "system:kwok"]
    reads = ["get", "list", "watch"]
    leases = [{"group": "coordination.k8s.io", "resources": ["leases"]}]
    rules = [
        {"level": "None", "nonResourceURLs": ["*"]},
        {"level": "None", "users": components, "verbs": reads},
        {
            "level": "None",
            "userGroups": ["system:nodes", "system:serviceaccounts:kube-system"],
            "verbs": reads,
        },
        {"level": "None", "users": components, "resources": leases},
        {"level": "None", "userGroups": ["system:nodes"], "resources": leases},
        {
            "level": "Metadata",
            "resources": [
                {"group": "", "resources": ["secrets", "serviceaccounts/token"]},
                {"group": "authentication.k8s.io"},
                {"group": "authorization.k8s.io"},
            ],
        },
        {"level": "Metadata", "verbs": reads},
        {"level": "RequestResponse"},
    ]
    document = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": rules,
    }
    return json.dumps(document, indent=1)


def corefile(settings: Settings) -> str:
    """Return CoreDNS's configuration: the cluster's own names, and nothing of the world outside."""
    return f"""cluster.local:53 in-addr.arpa:53 {{
  errors
  health {where.NODE_ADDRESS}:8080
  ready {where.NODE_ADDRESS}:8181
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {settings.state}/coredns.kubeconfig
    pods insecure
    ttl 5
  }}
  cache 5 {{
    denial 1000 1
  }}
}}
"""


def resolv_conf() -> str:
    """Return the resolver configuration for programs that `exec` runs inside the namespace."""
    return (
        f"nameserver {where.DNS_SERVICE_ADDRESS}\nsearch svc.cluster.local cluster.local\noptions ndots:5\n"
    )


def prometheus(settings: Settings) -> str:
    """Return Prometheus's configuration: every container port named `metrics`, labelled with its pod."""

    def copy(source: str, label: str) -> dict[str, object]:
        return {"source_labels": [source], "target_label": label}

    def select(source: str, pattern: str, action: str) -> dict[str, object]:
        return {"source_labels": [source], "regex": pattern, "action": action}

    pods = {
        "job_name": "pods",
        "kubernetes_sd_configs": [
            {"role": "pod", "kubeconfig_file": str(settings.state / "prometheus.kubeconfig")}
        ],
        "relabel_configs": [
            select("__meta_kubernetes_pod_container_port_name", "metrics", "keep"),
            select("__meta_kubernetes_pod_phase", "Succeeded|Failed", "drop"),
            # Nobody listens at the addresses of KWOK's pods, and there may be thousands.
            select("__meta_kubernetes_pod_node_name", "kwok.*", "drop"),
            copy("__meta_kubernetes_namespace", "namespace"),
            copy("__meta_kubernetes_pod_name", "pod"),
        ],
    }
    document = {
        "global": {
            "scrape_interval": f"{SCRAPE_SECONDS}s",
            "scrape_timeout": f"{SCRAPE_SECONDS - 1}s",
            "evaluation_interval": f"{SCRAPE_SECONDS}s",
        },
        "scrape_configs": [pods],
    }
    return json.dumps(document, indent=1)
