"""The command line of each component, and the order in which they can start.

Three groups, because of two facts: everything needs the API server, and kube-proxy exits when its node
gets an address later than it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from localcluster import settings as where

if TYPE_CHECKING:
    from pathlib import Path

    from localcluster.settings import Settings


@dataclass(frozen=True)
class Component:
    """One program: `name` is also that of its log."""

    name: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Binaries:
    """Where the programs are: `built` from Go modules, `unpacked` from Debian packages."""

    built: Path
    unpacked: Path

    def search_path(self, rest: str) -> str:
        """Return a PATH that finds these programs before those of `rest`."""
        return f"{self.built}:{self.unpacked}/usr/bin:{self.unpacked}/usr/sbin:{rest}"


def foundation(settings: Settings, binaries: Binaries) -> tuple[Component, ...]:
    """Return what needs nothing else: etcd, the API server (it waits for etcd) and containerd."""
    config = f"{settings.state}/containerd.toml"
    return (
        _etcd(settings, binaries),
        _api_server(settings, binaries),
        Component("containerd", (f"{binaries.unpacked}/usr/bin/containerd", "--config", config)),
    )


def after_api_server(settings: Settings, binaries: Binaries) -> tuple[Component, ...]:
    """Return what needs the API server: the controllers, the node, cluster DNS and Prometheus."""
    return (
        *_controllers(settings, binaries),
        _kubelet(settings, binaries),
        Component("coredns", (f"{binaries.built}/coredns", "-conf", f"{settings.state}/Corefile")),
        _prometheus(settings, binaries),
    )


def after_node(settings: Settings, binaries: Binaries) -> tuple[Component, ...]:
    """Return what needs the node to be registered: kube-proxy."""
    return (
        Component(
            "kube-proxy",
            (
                f"{binaries.built}/kube-proxy",
                f"--kubeconfig={settings.state}/proxy.kubeconfig",
                "--proxy-mode=nftables",
                f"--cluster-cidr={where.POD_SUBNET}",
                f"--hostname-override={where.NODE_NAME}",
            ),
        ),
    )


def _controllers(settings: Settings, binaries: Binaries) -> tuple[Component, ...]:
    """Return the controller manager and the scheduler.

    Their own rate limits (20 requests/s) would be what a test with hundreds of pods measures, so they
    are raised.
    """
    state, built = settings.state, binaries.built
    common = (
        "--bind-address=127.0.0.1",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--leader-elect=false",
    )
    manager = (
        f"{built}/kube-controller-manager",
        f"--kubeconfig={state}/controller-manager.kubeconfig",
        f"--service-account-private-key-file={settings.pki}/sa.key",
        f"--root-ca-file={settings.pki}/ca.crt",
        "--use-service-account-credentials",
        *common,
    )
    scheduler = (f"{built}/kube-scheduler", f"--kubeconfig={state}/scheduler.kubeconfig", *common)
    return Component("kube-controller-manager", manager), Component("kube-scheduler", scheduler)


def _kubelet(settings: Settings, binaries: Binaries) -> Component:
    argv = (
        f"{binaries.built}/kubelet",
        f"--config={settings.state}/kubelet.yaml",
        f"--kubeconfig={settings.state}/node.kubeconfig",
        f"--hostname-override={where.NODE_NAME}",
        f"--node-ip={where.NODE_ADDRESS}",
        f"--root-dir={settings.state}/kubelet",
    )
    return Component("kubelet", argv)


def _prometheus(settings: Settings, binaries: Binaries) -> Component:
    argv = (
        f"{binaries.built}/prometheus",
        f"--config.file={settings.state}/prometheus.yml",
        f"--storage.tsdb.path={settings.state}/prometheus",
        f"--web.listen-address={where.NODE_ADDRESS}:9090",
    )
    return Component("prometheus", argv)


def _etcd(settings: Settings, binaries: Binaries) -> Component:
    client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
    argv = (
        f"{binaries.built}/etcd",
        f"--data-dir={settings.state}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        "--unsafe-no-fsync",  # the data need not survive the machine, and fsync is what is slow
    )
    return Component("etcd", argv)


def _api_server(settings: Settings, binaries: Binaries) -> Component:
    pki = settings.pki
    argv = (
        f"{binaries.built}/kube-apiserver",
        "--etcd-servers=http://127.0.0.1:2379",
        f"--service-cluster-ip-range={where.SERVICE_SUBNET}",
        "--secure-port=6443",
        f"--advertise-address={where.NODE_ADDRESS}",
        f"--client-ca-file={pki}/ca.crt",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--service-account-key-file={pki}/sa.pub",
        f"--service-account-signing-key-file={pki}/sa.key",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        "--authorization-mode=Node,RBAC",
        # The last two let an annotation of a namespace send all its pods to KWOK's nodes.
        "--enable-admission-plugins=NodeRestriction,PodNodeSelector,PodTolerationRestriction",
        "--allow-privileged=true",
        f"--kubelet-client-certificate={pki}/admin.crt",
        f"--kubelet-client-key={pki}/admin.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",  # node names do not resolve; logs and exec need this
        f"--audit-policy-file={settings.state}/audit-policy.yaml",
        f"--audit-log-path={settings.audit_log}",
        "--audit-log-mode=blocking-strict",  # a request is answered only after it is in the log
        "--audit-log-maxsize=2048",
    )
    return Component("kube-apiserver", argv)
