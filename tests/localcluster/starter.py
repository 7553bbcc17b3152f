"""Bringing a cluster up from nothing: files first, then programs in the order that they need each other."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from localcluster import bootstrap, cleanup, components, configs, health, kwok, netns, pki
from localcluster.api import ApiClient
from localcluster.errors import PROGRAM, ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from localcluster.cgroups import ClusterCgroup
    from localcluster.components import Binaries, Component
    from localcluster.processes import ProcessTable
    from localcluster.progress import Progress
    from localcluster.settings import Settings

PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
"""Lower-case names of variables that would send the cluster's own traffic to a proxy outside."""

_POLL_SECONDS = 0.1
_START_SECONDS = 180.0


class Starter:
    """One start of one cluster; `settings.state` must not exist yet."""

    def __init__(
        self,
        settings: Settings,
        binaries: Binaries,
        table: ProcessTable,
        cgroup: ClusterCgroup,
        progress: Progress,
    ) -> None:
        self._settings = settings
        self._binaries = binaries
        self._table = table
        self._cgroup = cgroup
        self._progress = progress

    def lay_out(self) -> None:
        """Make the state folder with certificates and configuration, the namespace and the cgroup."""
        settings = self._settings
        settings.state.mkdir(parents=True, exist_ok=True)
        cleanup.mark(settings.state, [component.name for group in self._groups() for component in group])
        netns.create(settings.network_namespace)
        self._cgroup.create()
        settings.static_pods.mkdir(exist_ok=True)
        pki.issue_all(settings.pki)
        files = {
            "containerd.toml": configs.containerd(settings, self._binaries.unpacked),
            "cni/10-localcluster.conflist": configs.cni(settings),
            "kubelet.yaml": configs.kubelet(settings, self._cgroup.path),
            "audit-policy.yaml": configs.audit_policy(),
            "Corefile": configs.corefile(settings),
            "prometheus.yml": configs.prometheus(settings),
            "resolv.conf": configs.resolv_conf(),
            **{f"{who.file}.kubeconfig": pki.kubeconfig(settings.pki, who.file) for who in pki.CLIENTS},
        }
        for name, text in files.items():
            (settings.state / name).parent.mkdir(exist_ok=True)
            (settings.state / name).write_text(text)

    def start(self, load_pause_image: Callable[[], None], gpus: int) -> None:
        """Start everything and return when pods can run and reach Services. Call it inside the namespace."""
        api = ApiClient(self._settings.pki)
        foundation, after_api_server, after_node = self._groups()
        self._launch(foundation)
        self._await("containerd", self._settings.containerd_socket.exists)
        load_pause_image()
        self._await("the API server", api.ready)
        self._await("its first objects", lambda: _apply_all(api))
        self._launch(after_api_server)
        self._await("the node's registration", lambda: api.get(bootstrap.NODE_PATH) is not None)
        bootstrap.set_gpus(api, gpus)
        self._await("the node", lambda: bootstrap.is_schedulable(api.get(bootstrap.NODE_PATH)))
        self._launch(after_node)
        self._await("Services, DNS and Prometheus", lambda: not health.silent_services(self._settings))

    def add_kwok(self, built: Path) -> None:
        """Start KWOK, whose program is in `built`, and return when its nodes are Ready. Call it inside."""
        api = ApiClient(self._settings.pki)
        for path, document in kwok.objects():
            api.apply(path, document)
        self._launch((kwok.component(self._settings, built),))
        self._await("the pretended nodes", lambda: kwok.are_ready(api))
        state = self._settings.state
        cleanup.mark(state, [*cleanup.marked(state), kwok.NAME])

    def _groups(self) -> tuple[tuple[Component, ...], ...]:
        return (
            components.foundation(self._settings, self._binaries),
            components.after_api_server(self._settings, self._binaries),
            components.after_node(self._settings, self._binaries),
        )

    def _launch(self, group: Sequence[Component]) -> None:
        environment = {k: v for k, v in os.environ.items() if k.lower() not in PROXY_VARIABLES}
        environment["PATH"] = self._binaries.search_path(environment.get("PATH", ""))
        for component in group:
            argv = (*self._cgroup.enter(), *netns.enter(self._settings.network_namespace), *component.argv)
            self._table.start(component.name, argv, environment)

    def _await(self, what: str, reached: Callable[[], bool]) -> None:
        """Poll until `reached`; a program that has ended, or three minutes, is an error.

        An `OSError` of `reached` (no connection, a refusal) counts as not yet; the last one is reported.
        """
        deadline = time.monotonic() + _START_SECONDS
        trouble = ""
        while True:
            try:
                if reached():
                    break
            except OSError as error:
                trouble = f" ({error})"
            self._refuse_ended(what)
            if time.monotonic() > deadline:
                raise ClusterError(f"Waited {_START_SECONDS:.0f}s for {what}{trouble}", f"{PROGRAM} logs")
            time.sleep(_POLL_SECONDS)
        self._progress.say(f"{what}: ready")

    def _refuse_ended(self, what: str) -> None:
        running = self._table.running()
        for record in self._table.records():
            if record.name not in running:
                raise ClusterError(
                    f"{record.name} ended while waiting for {what}",
                    f"{PROGRAM} logs {record.name}",
                )


def _apply_all(api: ApiClient) -> bool:
    for path, document in bootstrap.objects():
        api.apply(path, document)
    return True
