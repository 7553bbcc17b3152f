"""pytest fixtures for tests against a running cluster.

Use them with `pytest_plugins = ["localcluster.fixtures"]` in `tests/conftest.py`, and run pytest inside the
cluster's network: `python -m localcluster exec -- pytest …`. A cluster that is missing is an error, never a
skipped test.
"""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from localcluster import Cluster, ClusterError, LocalCluster, Settings, current, netns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_COMMAND_SECONDS = 60.0
_DELETE_SECONDS = 50.0

Found = TypeVar("Found")


class KubectlError(Exception):
    """kubectl said no; the text is what it printed to standard error."""


@dataclass(frozen=True)
class Kubectl:
    """Runs kubectl as the administrator, in `namespace` unless the arguments say otherwise."""

    cluster: Cluster
    namespace: str

    def __call__(self, *words: str, stdin: str | None = None, timeout: float = _COMMAND_SECONDS) -> str:
        """Return what `kubectl WORDS` prints; raise `KubectlError` when it fails."""
        command = self.cluster.inside(["kubectl", f"--namespace={self.namespace}", *words])
        done = subprocess.run(
            command.argv,
            env=dict(command.environment),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode:
            raise KubectlError(done.stderr.strip())
        return done.stdout

    def get(self, *words: str) -> dict[str, Any]:
        """Return `kubectl get WORDS` as an object (a list object for several)."""
        return dict(json.loads(self("get", *words, "-o", "json")))

    def apply(self, *documents: dict[str, Any]) -> None:
        """Create or update these objects by server-side apply."""
        body = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)})
        self("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=body)


def eventually(look: Callable[[], Found | None], within: float, what: str, every: float = 0.2) -> Found:
    """Return the first true result of `look`, asked again every `every` seconds.

    Raises `AssertionError` that names `what` once `within` seconds have passed, with the last result.
    """
    deadline = time.monotonic() + within
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within:g}s: {what} (last seen: {found!r})")
        time.sleep(every)


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The cluster that is up; fails with the remedy where there is none, or pytest runs outside of it."""
    found = current()
    if isinstance(found, LocalCluster):
        if problems := found.problems():
            raise ClusterError(
                f"The cluster does not work: {'; '.join(problems)}", "python -m localcluster up"
            )
        if not netns.is_inside(Settings.from_environment().network_namespace):
            raise ClusterError(
                "pytest runs outside of the cluster's network", "python -m localcluster exec -- pytest ..."
            )
    return found


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh Kubernetes namespace; its pods are gone when the test has ended, so that GPUs are free.

    The namespace is deleted first, because controllers make no new pods in one that is terminating; what
    else is in it goes in the background.
    """
    name = f"test-{uuid.uuid4().hex[:8]}"
    administer = Kubectl(cluster, "default")
    administer("create", "namespace", name)
    yield name
    administer("delete", "namespace", name, "--wait=false")
    administer("delete", "pods", "--all", "-n", name, "--grace-period=1", f"--timeout={_DELETE_SECONDS:.0f}s")


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str) -> Kubectl:
    """kubectl in the test's own namespace."""
    return Kubectl(cluster, namespace)
