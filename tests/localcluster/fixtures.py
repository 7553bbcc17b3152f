"""pytest fixtures for tests against a running cluster.

Use them with `pytest_plugins = ["localcluster.fixtures"]` in `tests/conftest.py`, and run pytest inside the
cluster's network: `python -m localcluster exec -- pytest …`. A cluster that is missing is an error, never a
skipped test.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from localcluster import Cluster, ClusterError, LocalCluster, Settings, current, kwok, netns
from localcluster.errors import PROGRAM
from localcluster.kubectl import Kubectl, KubectlError, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "Kubectl",
    "KubectlError",
    "cluster",
    "eventually",
    "kubectl",
    "namespace",
    "pretended_kubectl",
    "pretended_namespace",
]

_DELETE_SECONDS = 50.0


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The cluster that is up; fails with the remedy where there is none, or pytest runs outside of it."""
    found = current()
    if isinstance(found, LocalCluster):
        if problems := found.problems():
            raise ClusterError(f"The cluster does not work: {'; '.join(problems)}", f"{PROGRAM} up")
        if not netns.is_inside(Settings.from_environment().network_namespace):
            raise ClusterError(
                "pytest runs outside of the cluster's network", f"{PROGRAM} exec -- pytest ..."
            )
    return found


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh Kubernetes namespace; its pods are gone when the test has ended, so that GPUs are free.

    The namespace is deleted first, because controllers make no new pods in one that is terminating; what
    else is in it goes in the background.
    """
    yield from _fresh_namespace(cluster, {})


@pytest.fixture
def pretended_namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh Kubernetes namespace, all of whose pods run on KWOK's nodes, whatever makes them."""
    if not Kubectl(cluster, "default").get("nodes", "-l", f"type={kwok.NAME}")["items"]:
        raise ClusterError("The cluster has no pretended nodes", f"{PROGRAM} up --kwok")
    yield from _fresh_namespace(cluster, kwok.NAMESPACE_ANNOTATIONS)


@pytest.fixture
def pretended_kubectl(cluster: Cluster, pretended_namespace: str) -> Kubectl:
    """kubectl in the test's own namespace of pretended pods."""
    return Kubectl(cluster, pretended_namespace)


def _fresh_namespace(cluster: Cluster, annotations: Mapping[str, str]) -> Iterator[str]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    administer = Kubectl(cluster, "default")
    metadata = {"name": name, "annotations": dict(annotations)}
    administer.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    yield name
    administer("delete", "namespace", name, "--wait=false")
    administer("delete", "pods", "--all", "-n", name, "--grace-period=1", f"--timeout={_DELETE_SECONDS:.0f}s")


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str) -> Kubectl:
    """kubectl in the test's own namespace."""
    return Kubectl(cluster, namespace)
