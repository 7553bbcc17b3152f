"""The cluster `existing`: somebody else's, reached through a kubeconfig."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from localcluster.bootstrap import GPU_RESOURCE
from localcluster.cluster import Command
from localcluster.errors import ClusterError
from localcluster.shell import run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class ExistingCluster:
    """Uses `KUBECONFIG` and `PROMETHEUS_URL`; the network is this machine's, so nothing is entered."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment

    @property
    def kubeconfig(self) -> Path:
        return Path(self._required("KUBECONFIG"))

    @property
    def prometheus_url(self) -> str:
        return self._required("PROMETHEUS_URL")

    @property
    def audit_log(self) -> Path | None:
        return None

    def load_image(self, archive: Path) -> NoReturn:
        """Refuse: images reach somebody else's nodes through a registry only."""
        raise ClusterError(
            f"{archive.name} cannot be loaded into an existing cluster",
            "push the image to a registry that the cluster pulls from",
        )

    def set_gpus(self, count: int) -> None:
        """Advertise `count` GPUs on every node."""
        kubectl = ("kubectl", f"--kubeconfig={self.kubeconfig}")
        remedy = "install kubectl, and check that KUBECONFIG names a cluster that answers"
        names = run([*kubectl, "get", "nodes", "-o", "name"], remedy=remedy).split()
        patch = json.dumps({"status": {"capacity": {GPU_RESOURCE: str(count)}}})
        for name in names:
            run([*kubectl, "patch", name, "--subresource=status", "--type=merge", "-p", patch], remedy=remedy)

    def inside(self, argv: Sequence[str]) -> Command:
        return Command(tuple(argv), dict(self._environment))

    def _required(self, name: str) -> str:
        value = self._environment.get(name)
        if not value:
            raise ClusterError(f"{name} is not set", f"set {name} for LOCALCLUSTER_KIND=existing")
        return value
