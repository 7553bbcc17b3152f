"""The cluster `local`: a real one-node Kubernetes in a network namespace of this machine."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from localcluster import bootstrap, cleanup, components, configs, netns, packages, pki, programs
from localcluster import settings as where
from localcluster.api import ApiClient
from localcluster.archives import write_thin
from localcluster.cgroups import ClusterCgroup
from localcluster.cluster import Command
from localcluster.errors import ClusterError
from localcluster.processes import ProcessTable
from localcluster.shell import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from localcluster.components import Binaries, Component
    from localcluster.progress import Progress
    from localcluster.settings import Settings

_POLL_SECONDS = 0.1
_START_SECONDS = 90.0
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")


class LocalCluster:
    """Starts, stops and enters the cluster that `settings` name. Needs root."""

    def __init__(self, settings: Settings, progress: Progress) -> None:
        self._settings = settings
        self._progress = progress
        self._cgroup = ClusterCgroup(settings.name)
        self._table = ProcessTable(settings.state / "processes", settings.logs)

    @property
    def kubeconfig(self) -> Path:
        return self._settings.kubeconfig

    @property
    def prometheus_url(self) -> str:
        return where.PROMETHEUS_URL

    @property
    def audit_log(self) -> Path | None:
        return self._settings.audit_log

    def build(self) -> Binaries:
        """Make everything that takes minutes the first time; return where the programs are."""
        _require_root()
        packages.ensure_installed(self._progress)
        unpacked = packages.ensure_unpacked(self._settings.cache, self._progress)
        return components.Binaries(programs.ensure(self._settings, self._progress), unpacked)

    def up(self, pause_archive: Callable[[Binaries], Path], gpus: int = where.DEFAULT_GPUS) -> None:
        """Start the cluster and return when pods can be scheduled, reach Services and resolve names.

        A healthy cluster is left alone; what a killed run left is removed first. `pause_archive` makes
        the image that every pod's sandbox needs.
        """
        binaries = self.build()
        archive = pause_archive(binaries)
        with self._locked():
            if self.problems() == ():
                self._progress.say("The cluster is up already")
                return
            if left := cleanup.leftovers(self._settings):
                self._progress.say(f"Removing what an earlier run left: {', '.join(left)}")
            cleanup.clean_up(self._settings)
            self._lay_out(binaries)
            netns.call_inside(self._settings.network_namespace, lambda: self._start(binaries, archive, gpus))
        self._progress.say("The cluster is up")

    def down(self) -> None:
        """Stop the cluster and remove all that it left, except the cache."""
        _require_root()
        with self._locked():
            left = cleanup.leftovers(self._settings)
            if left:
                self._progress.say(f"Removing {', '.join(left)}")
            cleanup.clean_up(self._settings)
        self._progress.say("The cluster is down" if left else "The cluster was not up")

    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with the cluster, in words; nothing if it works."""
        if not (self._settings.state / cleanup.MARKER).exists():
            return ("it is not up",)
        running = self._table.running()
        expected = json.loads((self._settings.state / cleanup.MARKER).read_text())["components"]
        ended = tuple(f"{name} is not running" for name in expected if name not in running)
        if ended or not self._settings.network_namespace.exists():
            return ended or ("its network namespace is gone",)
        return netns.call_inside(self._settings.network_namespace, self._answers)

    def components(self) -> dict[str, int]:
        """Return the process id of each running component."""
        return self._table.running()

    def load_image(self, archive: Path) -> None:
        """Import a Docker or OCI archive into the node's container runtime."""
        if not self._settings.containerd_socket.exists():
            raise ClusterError("The cluster is not up", "python -m localcluster up")
        blobs = self._settings.containerd_blobs
        with tempfile.NamedTemporaryFile(dir=self._settings.state, suffix=".tar") as scratch:
            thin = write_thin(archive, Path(scratch.name), lambda digest: (blobs / digest).exists())
            self._import(Path(scratch.name) if thin else archive)

    def _import(self, archive: Path) -> None:
        ctr = self._settings.cache / "debian" / "usr" / "bin" / "ctr"
        run(
            [
                ctr,
                f"--address={self._settings.containerd_socket}",
                "-n",
                "k8s.io",
                "images",
                "import",
                archive,
            ],
            remedy="check `localcluster status`, and that the file is a Docker or OCI archive",
        )

    def set_gpus(self, count: int) -> None:
        """Let the node advertise `count` GPUs from now on."""
        netns.call_inside(
            self._settings.network_namespace, lambda: bootstrap.set_gpus(ApiClient(self._settings.pki), count)
        )

    def inside(self, argv: Sequence[str]) -> Command:
        """Return `argv` as a command that runs inside the namespace with cluster names resolvable."""
        environment = {k: v for k, v in os.environ.items() if k.lower() not in _PROXY_VARIABLES}
        binaries = components.Binaries(
            programs.folder_for(self._settings),
            self._settings.cache / "debian",
        )
        environment["PATH"] = f"{self._settings.scripts}:{binaries.search_path(environment.get('PATH', ''))}"
        environment["KUBECONFIG"] = str(self.kubeconfig)
        if netns.is_inside(self._settings.network_namespace):
            return Command(tuple(argv), environment)
        if not self._settings.network_namespace.exists():
            raise ClusterError("The cluster is not up", "python -m localcluster up")
        bind = f"mount --bind {self._settings.state}/resolv.conf /etc/resolv.conf"
        own_resolver = ("unshare", "--mount", "sh", "-ec", f'{bind}; exec "$@"', "sh")
        return Command((*netns.enter(self._settings.network_namespace), *own_resolver, *argv), environment)

    def _lay_out(self, binaries: Binaries) -> None:
        """Make the state folder with its certificates and configuration, the namespace and the cgroup."""
        settings = self._settings
        everything = (
            *components.foundation(settings, binaries),
            *components.after_api_server(settings, binaries),
            *components.after_node(settings, binaries),
        )
        marker = {"name": settings.name, "components": [component.name for component in everything]}
        settings.state.mkdir(parents=True, exist_ok=True)
        (settings.state / cleanup.MARKER).write_text(json.dumps(marker))
        netns.create(settings.network_namespace)
        self._cgroup.create()
        pki.issue_all(settings.pki)
        files = {
            "containerd.toml": configs.containerd(settings, binaries.unpacked),
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

    def _start(self, binaries: Binaries, pause_archive: Path, gpus: int) -> None:
        """Start the groups of components in order; runs in a thread inside the namespace."""
        api = ApiClient(self._settings.pki)
        self._launch(components.foundation(self._settings, binaries), binaries)
        self._await("containerd", self._settings.containerd_socket.exists)
        self.load_image(pause_archive)
        self._await("the API server", api.ready)
        for path, document in bootstrap.objects():
            api.apply(path, document)
        self._launch(components.after_api_server(self._settings, binaries), binaries)
        self._await("the node's registration", lambda: api.get(bootstrap.NODE_PATH) is not None)
        bootstrap.set_gpus(api, gpus)
        self._await("the node", lambda: bootstrap.is_schedulable(api.get(bootstrap.NODE_PATH)))
        self._launch(components.after_node(self._settings, binaries), binaries)
        self._await("Services, DNS and Prometheus", lambda: self._answers() == ())

    def _launch(self, group: Sequence[Component], binaries: Binaries) -> None:
        environment = {**os.environ, "PATH": binaries.search_path(os.environ.get("PATH", ""))}
        for variable in [name for name in environment if name.lower() in _PROXY_VARIABLES]:
            del environment[variable]
        for component in group:
            argv = (*self._cgroup.enter(), *netns.enter(self._settings.network_namespace), *component.argv)
            self._table.start(component.name, argv, environment)

    def _await(self, what: str, reached: Callable[[], bool]) -> None:
        """Poll until `reached`; a component that has ended, or a minute and a half, is an error."""
        deadline = time.monotonic() + _START_SECONDS
        while not reached():
            running = self._table.running()
            for record in self._table.records():
                if record.name not in running:
                    raise ClusterError(
                        f"{record.name} ended while waiting for {what}",
                        f"python -m localcluster logs {record.name}",
                    )
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"Waited {_START_SECONDS:.0f}s for {what}", "look at python -m localcluster logs"
                )
            time.sleep(_POLL_SECONDS)
        self._progress.say(f"{what}: ready")

    def _answers(self) -> tuple[str, ...]:
        """Return which of the cluster's services give no answer; runs inside the namespace."""
        api = ApiClient(self._settings.pki)
        if not api.ready():
            return ("the API server is not ready",)
        checks = {
            "the node is not ready": bootstrap.is_schedulable(api.get(bootstrap.NODE_PATH)),
            "the default service account is missing": api.get(
                "/api/v1/namespaces/default/serviceaccounts/default"
            )
            is not None,
            "Service addresses do not work": _connects(where.API_SERVICE_ADDRESS, 443),
            "cluster DNS does not answer": _connects(where.DNS_SERVICE_ADDRESS, 53),
            "Prometheus is not ready": _is_ok(f"{where.PROMETHEUS_URL}/-/ready"),
        }
        return tuple(problem for problem, fine in checks.items() if not fine)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep two `up` or `down` of the same cluster from running at once."""
        path = self._settings.state.with_name(f"{self._settings.state.name}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._progress.say("Waiting for another `up` or `down` of this cluster to end")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _require_root() -> None:
    if os.geteuid() != 0:
        raise ClusterError(
            "This needs root (namespaces, mounts, cgroups)", "run it again as root, or with sudo -E"
        )


def _connects(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=0.5):
            return True
    except OSError:
        return False


def _is_ok(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=1) as response:
            return bool(response.status == 200)
    except OSError:
        return False
