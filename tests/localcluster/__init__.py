"""A real Kubernetes for tests and demos, from package registries alone.

Run it as `PYTHONPATH=tests python -m localcluster --help`; README.md beside this file tells how it works.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from localcluster.cluster import Cluster, Command
from localcluster.errors import ClusterError
from localcluster.existing import ExistingCluster
from localcluster.local import LocalCluster
from localcluster.progress import Progress
from localcluster.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Cluster", "ClusterError", "Command", "ExistingCluster", "LocalCluster", "Settings", "current"]


def current(environment: Mapping[str, str] = os.environ) -> Cluster:
    """Return the cluster that `LOCALCLUSTER_KIND` names: `local` (the default) or `existing`."""
    kind = environment.get("LOCALCLUSTER_KIND", "local")
    if kind == "local":
        return LocalCluster(Settings.from_environment(environment), Progress())
    if kind == "existing":
        return ExistingCluster(environment)
    raise ClusterError(f"LOCALCLUSTER_KIND={kind!r} is no kind of cluster", "set it to local or existing")
