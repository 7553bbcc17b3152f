"""kubectl, as tests and demos use it; pytest is not needed."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from localcluster.cluster import Cluster

_COMMAND_SECONDS = 60.0

Found = TypeVar("Found")


class KubectlError(Exception):
    """kubectl said no; the text is what it printed to standard error."""


class NotInTimeError(AssertionError):
    """Something did not come true before its deadline."""


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


def eventually(
    look: Callable[[], Found | None],
    within: float,
    what: str,
    every: float = 0.2,
    *,
    holds: Callable[[Found], bool] = bool,
    show: Callable[[Found | None], str] = repr,
) -> Found:
    """Return the first result of `look` that `holds` is true of, asked again every `every` seconds.

    Raises `NotInTimeError` that names `what` once `within` seconds have passed, and shows the last result.
    """
    deadline = time.monotonic() + within
    while True:
        found = look()
        if found is not None and holds(found):
            return found
        if time.monotonic() > deadline:
            raise NotInTimeError(f"not within {within:g}s: {what} (last seen: {show(found)})")
        time.sleep(every)
