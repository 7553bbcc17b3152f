"""The surroundings of the operator: pods that answer, a proxy per process, a namespace per story."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import oracle
from crash.children import Fresh, Starter
from crash.history import History, kept, made
from crash.operator_process import FAST, OperatorProcess
from faultproxy import Call, FaultProxy, Upstream
from faultproxy.journal import Entry, writes
from kwokstage import Background, Stage
from localcluster.api import ApiClient
from localcluster.kubectl import Kubectl, NotInTimeError, eventually
from localcluster.kwok import NAMESPACE_ANNOTATIONS
from oracle.audit import parse
from stage.install import NAMESPACE, OPERATOR_USER
from stage.service import Service

GROUP = "/apis/chaffinch.dev/v1alpha1"
NAME = "chat"
END_SECONDS = 180.0
QUIET_SECONDS = 2.0
_LOOKS = 3  # of which a probe's pass may have been one
_POLL_SECONDS = 0.2

Object = Mapping[str, Any]


def path_of(namespace: str, name: str = NAME) -> str:
    """Return where the API server has a rollout."""
    return f"{GROUP}/namespaces/{namespace}/inferencerollouts/{name}"


_OURS = "labelSelector=app.kubernetes.io/managed-by=chaffinch"
RESOURCES = {
    "configmaps": "/api/v1",
    "services": "/api/v1",
    "serviceaccounts": "/api/v1",
    "deployments": "/apis/apps/v1",
    "controllerrevisions": "/apis/apps/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "loadprobes": GROUP,
    "rolloutrecords": GROUP,
}
"""What the operator makes, and the group of each. Jobs go with their LoadProbes, whenever that is."""


@dataclass(frozen=True)
class Playground:
    """Everything but the operator.

    Attributes:
        api: The API server, as the administrator, not through a proxy.
        kubectl: The same, for what is done seldom.
        background: Where proxies and stage run.
        stage: Answers in place of routers, workers and Prometheus.
        upstream: The API server as the operator's ServiceAccount.
        folder: For logs and kubeconfigs.
        audit_log: The API server's audit log.
    """

    api: ApiClient
    kubectl: Kubectl
    background: Background
    stage: Stage
    upstream: Upstream
    folder: Path
    audit_log: Path
    _audited_from: dict[str, int] = field(default_factory=dict)
    """How long the audit log was when a namespace was made: nothing about it is before that."""

    @contextmanager
    def proxy(self) -> Iterator[FaultProxy]:
        """Put a new proxy before the API server."""
        proxy = FaultProxy(self.upstream)
        self.background.run(proxy.start())
        try:
            yield proxy
        finally:
            self.background.run(proxy.stop())

    @contextmanager
    def operator(
        self, proxy: FaultProxy, name: str = "operator", starter: Starter = Fresh, /, **settings: str
    ) -> Iterator[OperatorProcess]:
        """Give a proxy its operator; not started yet, and stopped at the end."""
        environment = {**FAST, **settings, "CHAFFINCH_PROMETHEUS_URL": self.stage.prometheus_url}
        operator = OperatorProcess(name, proxy.url, self.folder, environment, starter)
        try:
            yield operator
        finally:
            operator.stop()

    @contextmanager
    def attended(
        self, name: str = "operator", **settings: str
    ) -> Iterator[tuple[str, FaultProxy, OperatorProcess]]:
        """Make a namespace with an operator for it alone, behind a proxy of its own; not started yet."""
        with (
            self.namespace() as namespace,
            self.proxy() as proxy,
            self.operator(proxy, name, CHAFFINCH_WATCH_NAMESPACES=namespace, **settings) as operator,
        ):
            yield namespace, proxy, operator

    def make_namespace(self) -> str:
        """Make a namespace of pretended pods."""
        name = f"crash-{uuid.uuid4().hex[:8]}"
        self._audited_from[name] = self.audit_log.stat().st_size
        metadata = {"name": name, "annotations": dict(NAMESPACE_ANNOTATIONS)}
        self.api.apply(
            f"/api/v1/namespaces/{name}", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        )
        return name

    def drop_namespace(self, name: str) -> None:
        """Delete a namespace; nobody waits for that."""
        self.api.delete(f"/api/v1/namespaces/{name}")

    @contextmanager
    def namespace(self) -> Iterator[str]:
        """Make a namespace for the length of the block."""
        name = self.make_namespace()
        try:
            yield name
        finally:
            self.drop_namespace(name)

    def free_lease(self, name: str) -> None:
        """Take a Lease from a process that is known to be dead; the next one need not wait for its end."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{name}"
        if self.api.get(path) is not None:
            self.api.merge(path, {"spec": {"holderIdentity": ""}})

    def apply(self, service: Service) -> None:
        """Do what a user does."""
        self.api.apply(path_of(service.namespace, service.name), service.manifest())

    def rollout(self, namespace: str) -> Object:
        """Return the rollout of a namespace as it is now."""
        return self._rollout_at(path_of(namespace), namespace)

    def remembered(self, namespace: str) -> Object:
        """Return the rollout as the API server remembers it, which takes no answer of its store."""
        return self._rollout_at(f"{path_of(namespace)}?resourceVersion=0", namespace)

    def _rollout_at(self, path: str, namespace: str) -> Object:
        found = self.api.get(path)
        assert found is not None, f"there is no rollout in {namespace}"
        return found

    def until(
        self,
        namespace: str,
        holds: Callable[[Object], bool],
        what: str,
        *,
        seconds: float = END_SECONDS,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Object:
        """Wait until something is so of a rollout; return it.

        Args:
            namespace: Where it is.
            holds: What has to be so.
            what: The same in words.
            seconds: How long to wait.
            meanwhile: Done at every look, such as to revive a process.
        """

        def look() -> Object | None:
            meanwhile()
            with suppress(OSError):  # a machine that is busy may keep the administrator waiting
                return self.rollout(namespace)
            return None

        return eventually(look, seconds, what, holds=holds, show=_status)

    def until_stable(self, service: Service, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Apply the first version and wait until it serves."""
        self.apply(service)
        self.until(service.namespace, _is_ready, "ready", meanwhile=meanwhile)

    def until_attempt_ends(
        self, namespace: str, attempt: int, meanwhile: Callable[[], None] = lambda: None
    ) -> Object:
        """Wait until an attempt is over."""
        return self.until(
            namespace, lambda one: _last_attempt(one) >= attempt, f"at the end of attempt {attempt}",
            meanwhile=meanwhile,
        )  # fmt: skip

    def until_quiet(
        self, proxy: FaultProxy, namespace: str, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Wait until the operator has looked at the rollout again and had nothing to write."""
        deadline = time.monotonic() + END_SECONDS
        while time.monotonic() < deadline:
            meanwhile()
            entries = proxy.journal.of_namespace(namespace)
            last = writes(entries)[-1]
            looks = [one for one in entries if one.at > last.at and one.call == _look_at(namespace)]
            if len(looks) > _LOOKS and time.monotonic() - last.at > QUIET_SECONDS:
                return
            time.sleep(_POLL_SECONDS)
        raise NotInTimeError(f"still written to {namespace} after {END_SECONDS:.0f} s: {last}")

    def history(self, namespace: str, entries: tuple[Entry, ...]) -> History:
        """Return what a rollout came to, and what was made on the way."""
        end = {"rollout": kept("inferencerollouts", self.rollout(namespace))}
        for resource, group in RESOURCES.items():
            found = self.api.get(f"{group}/namespaces/{namespace}/{resource}?{_OURS}") or {"items": []}
            for item in found["items"]:
                end[f"{resource} {item['metadata']['name']}"] = kept(resource, item)
        return History(end, made(entries))

    def then_no_invariant_was_broken(self, namespace: str) -> None:
        """Let the oracle read every write of ours in a namespace; there must be some to judge."""
        with self.audit_log.open("rb") as log:
            log.seek(self._audited_from.get(namespace, 0))
            # Of a log of many rollouts only the lines of one are worth parsing.
            lines = [line.decode() for line in log if namespace.encode() in line]
        written = sorted(parse(lines, namespace), key=lambda write: write.at)
        assert oracle.wrote(written, NAME, OPERATOR_USER) == {"route", "status"}
        violations = oracle.check(written, rollout=NAME, operator=OPERATOR_USER)
        assert not violations, "\n".join(map(str, violations))


def _look_at(namespace: str) -> Call:
    """Return the call that each pass begins with."""
    return Call("get", "inferencerollouts", namespace, NAME)


def _status(rollout: Object | None) -> str:
    return repr(rollout and rollout.get("status"))


def _is_ready(rollout: Object) -> bool:
    conditions = rollout.get("status", {}).get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _last_attempt(rollout: Object) -> int:
    return int(rollout.get("status", {}).get("lastAttempt", {}).get("attempt", 0))
