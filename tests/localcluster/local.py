"""The cluster `local`: a real one-node Kubernetes in a network namespace of this machine."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from localcluster import bootstrap, cleanup, health, kwok, netns, packages, programs
from localcluster import settings as where
from localcluster.api import ApiClient
from localcluster.archives import write_thin
from localcluster.cgroups import ClusterCgroup
from localcluster.cluster import Command
from localcluster.components import Binaries
from localcluster.errors import PROGRAM, ClusterError
from localcluster.locks import exclusive
from localcluster.processes import ProcessTable
from localcluster.shell import run
from localcluster.starter import PROXY_VARIABLES, Starter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from localcluster.progress import Progress
    from localcluster.settings import Settings

_ANSWER_SECONDS = 30.0
_NOT_UP = ("The cluster is not up", f"{PROGRAM} up")


class LocalCluster:
    """Starts, stops and enters the cluster that `settings` name. Needs root."""

    def __init__(self, settings: Settings, progress: Progress) -> None:
        self._settings = settings
        self._progress = progress
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
        return Binaries(programs.ensure(self._settings, self._progress), unpacked)

    def up(self, pause_archive: Callable[[Binaries], Path], gpus: int = where.DEFAULT_GPUS) -> None:
        """Start the cluster and return when pods can be scheduled, reach Services and resolve names.

        A healthy cluster is left alone; what a killed run left is removed first. `pause_archive` makes
        the image that every pod's sandbox needs.
        """
        binaries = self.build()
        archive = pause_archive(binaries)
        with self._locked():
            if self._is_well():
                self._progress.say("The cluster is up already")
                return
            if left := cleanup.leftovers(self._settings):
                self._progress.say(f"Removing what an earlier run left: {', '.join(left)}")
            cleanup.clean_up(self._settings)
            starter = self._starter(binaries)
            starter.lay_out()
            netns.call_inside(
                self._settings.network_namespace,
                lambda: starter.start(lambda: self.load_image(archive), gpus),
            )
        self._progress.say("The cluster is up")

    def add_kwok(self) -> None:
        """Add KWOK and its pretended nodes (`kwok.NODES`) to the running cluster, unless they are there."""
        built = programs.ensure(self._settings, self._progress, programs.KWOK)
        with self._locked():
            if kwok.NAME in cleanup.marked(self._settings.state):
                return
            netns.call_inside(
                self._settings.network_namespace, lambda: self._starter(self.build()).add_kwok(built)
            )

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
        missing = health.missing_parts(self._settings, self._table)
        if missing:
            return missing
        _require_root()
        return netns.call_inside(
            self._settings.network_namespace, lambda: health.silent_services(self._settings)
        )

    def components(self) -> dict[str, int]:
        """Return the process id of each running component."""
        return self._table.running()

    def asleep(self, component: str) -> AbstractContextManager[None]:
        """Let a component, such as `etcd`, do nothing for the length of the block."""
        return self._table.asleep(component)

    def load_image(self, archive: Path) -> None:
        """Import a Docker or OCI archive into the node's container runtime."""
        if not self._settings.containerd_socket.exists():
            raise ClusterError(*_NOT_UP)
        blobs = self._settings.containerd_blobs
        with tempfile.NamedTemporaryFile(dir=self._settings.state, suffix=".tar") as scratch:
            thin = write_thin(archive, Path(scratch.name), lambda digest: (blobs / digest).exists())
            self._import(Path(scratch.name) if thin else archive)

    def set_gpus(self, count: int) -> None:
        """Let the node advertise `count` GPUs from now on."""
        netns.call_inside(
            self._settings.network_namespace, lambda: bootstrap.set_gpus(ApiClient(self._settings.pki), count)
        )

    def inside(self, argv: Sequence[str]) -> Command:
        """Return `argv` as a command that runs inside the namespace with cluster names resolvable."""
        _require_root()
        namespace = self._settings.network_namespace
        environment = {k: v for k, v in os.environ.items() if k.lower() not in PROXY_VARIABLES}
        binaries = Binaries(programs.folder_for(self._settings), packages.folder_for(self._settings.cache))
        environment["PATH"] = f"{self._settings.scripts}:{binaries.search_path(environment.get('PATH', ''))}"
        environment["KUBECONFIG"] = str(self.kubeconfig)
        if netns.is_inside(namespace):
            return Command(tuple(argv), environment)
        if not namespace.exists():
            raise ClusterError(*_NOT_UP)
        bind = f"mount --bind {self._settings.state}/resolv.conf /etc/resolv.conf"
        own_resolver = ("unshare", "--mount", "sh", "-ec", f'{bind}; exec "$@"', "sh")
        return Command((*netns.enter(namespace), *own_resolver, *argv), environment)

    def _starter(self, binaries: Binaries) -> Starter:
        cgroup = ClusterCgroup(self._settings.name)
        return Starter(self._settings, binaries, self._table, cgroup, self._progress)

    def _import(self, archive: Path) -> None:
        ctr = packages.folder_for(self._settings.cache) / "usr" / "bin" / "ctr"
        socket = f"--address={self._settings.containerd_socket}"
        run(
            [ctr, socket, "-n", "k8s.io", "images", "import", archive],
            remedy="check `localcluster status`, and that the file is a Docker or OCI archive",
        )

    def _is_well(self) -> bool:
        """Tell whether there is nothing to start; a busy machine gets time to answer."""
        deadline = time.monotonic() + _ANSWER_SECONDS
        while not health.missing_parts(self._settings, self._table):
            if not self.problems():
                return True
            if time.monotonic() > deadline:
                break
            time.sleep(0.5)
        return False

    def _locked(self) -> AbstractContextManager[None]:
        path = self._settings.state.with_name(f"{self._settings.state.name}.lock")
        return exclusive(path, "another `up` or `down` of this cluster", self._progress)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise ClusterError(
            "This needs root (namespaces, mounts, cgroups)", "run it again as root, or with sudo -E"
        )
