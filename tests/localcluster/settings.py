"""Where the cluster lives on disk and which addresses it uses.

Two folders matter. The *cache* outlives clusters and holds what takes minutes to make (binaries, base
image, wheels). The *state* is one running cluster: it is thrown away whole by `down`, and everything
that must be cleaned up after a crash can be found from it.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from localcluster.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Mapping

NODE_NAME = "node1"
NODE_ADDRESS = "10.99.0.1"
POD_SUBNET = "10.244.0.0/24"
PRETENDED_SUBNET = "10.200.0.0/16"
"""Addresses of pods on KWOK's nodes: local to the namespace, so a test can listen on all of them."""
SERVICE_SUBNET = "10.96.0.0/16"
API_SERVICE_ADDRESS = "10.96.0.1"
DNS_SERVICE_ADDRESS = "10.96.0.10"
API_URL = f"https://{NODE_ADDRESS}:6443"
PROMETHEUS_URL = f"http://{NODE_ADDRESS}:9090"
DEFAULT_GPUS = 8

PACKAGE = Path(__file__).parent
REPOSITORY = PACKAGE.parent.parent

_NAME = re.compile(r"^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$")


@dataclass(frozen=True)
class Settings:
    """One cluster's name and folders.

    `name` is also the name of the network namespace and of the cgroup, so two clusters with different
    names (and states) live side by side although they use the same addresses.
    """

    name: str
    state: Path
    cache: Path

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read `LOCALCLUSTER_NAME`, `LOCALCLUSTER_STATE` and `LOCALCLUSTER_CACHE`; all are optional."""
        name = environment.get("LOCALCLUSTER_NAME", "chaffinch")
        if not _NAME.match(name):
            raise ClusterError(
                f"LOCALCLUSTER_NAME={name!r} is not a name", "use lower-case letters, digits and dashes"
            )
        home = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cls(
            name=name,
            state=Path(environment.get("LOCALCLUSTER_STATE") or f"/tmp/localcluster-{name}"),
            cache=Path(environment.get("LOCALCLUSTER_CACHE") or home / "chaffinch" / "localcluster"),
        )

    @property
    def network_namespace(self) -> Path:
        """The file that keeps the cluster's network namespace open."""
        return Path("/run/netns") / self.name

    @property
    def kubeconfig(self) -> Path:
        """Credentials of the cluster's administrator; its server address is only reachable inside."""
        return self.state / "admin.kubeconfig"

    @property
    def audit_log(self) -> Path:
        """One JSON line per request that the API server answered."""
        return self.state / "audit.log"

    @property
    def logs(self) -> Path:
        """One file per component, `NAME.log`."""
        return self.state / "logs"

    @property
    def pki(self) -> Path:
        """Certificates and keys, `NAME.crt` and `NAME.key`."""
        return self.state / "pki"

    @property
    def static_pods(self) -> Path:
        """What is put here as a file the kubelet runs, whatever the API server knows of it."""
        return self.state / "static-pods"

    @property
    def containerd_socket(self) -> Path:
        return self.state / "containerd" / "containerd.sock"

    @property
    def containerd_blobs(self) -> Path:
        """Where containerd keeps the layers that it has, one file each, named by its SHA-256."""
        return self.state / "containerd" / "root" / "io.containerd.content.v1.content" / "blobs" / "sha256"

    @property
    def scripts(self) -> Path:
        """Where the running Python's own environment keeps its programs (kubectl, pip, envoy)."""
        return Path(sys.executable).parent
