"""Removing every trace of a run, whatever state a crash left it in.

It starts from nothing but the settings, so it does not matter how far `up` had come. Each part may be
gone already.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localcluster import netns
from localcluster.cgroups import ClusterCgroup
from localcluster.errors import ClusterError
from localcluster.processes import ProcessTable
from localcluster.shell import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localcluster.settings import Settings

MARKER = "localcluster.json"
"""The file in a state folder that shows whose folder it is: without it nothing there is removed."""

_GRACE_SECONDS = 1.0
_CONTAINER_LOG_LINKS = Path("/var/log/containers")
_CNI_RESULTS = Path("/var/lib/cni/results")
_SHIM_SOCKETS = Path("/run/containerd/s")


def mark(state: Path, components: Sequence[str]) -> None:
    """Write down that the folder `state` is a cluster's, and the names of the programs that must run."""
    (state / MARKER).write_text(json.dumps({"components": list(components)}))


def marked(state: Path) -> tuple[str, ...]:
    """Return the names that `mark` wrote down."""
    return tuple(json.loads((state / MARKER).read_text())["components"])


def leftovers(settings: Settings) -> tuple[str, ...]:
    """Return in words what a run, alive or dead, has left behind."""
    found = {
        f"folder {settings.state}": (settings.state / MARKER).exists(),
        f"network namespace {settings.name}": settings.network_namespace.exists(),
        "processes": bool(ClusterCgroup(settings.name).members()),
    }
    return tuple(name for name, there in found.items() if there)


def clean_up(settings: Settings) -> None:
    """End all programs and containers, unmount, and remove namespace, cgroup and state folder.

    Raises `ClusterError` if the state folder holds something that no cluster put there.
    """
    _refuse_foreign_folder(settings.state)
    table = ProcessTable(settings.state / "processes", settings.logs)
    table.stop([record.name for record in table.records()], _GRACE_SECONDS)
    ClusterCgroup(settings.name).destroy()
    for mount in mounts_below(settings.state, Path("/proc/mounts").read_text()):
        run(["umount", "--lazy", mount], remedy=f"unmount {mount} by hand, then run `down` again")
    netns.delete(settings.network_namespace)
    for path in _stray_files(settings):
        path.unlink(missing_ok=True)
    shutil.rmtree(settings.state, ignore_errors=True)


def mounts_below(folder: Path, mounts: str) -> tuple[str, ...]:
    """Return the mount points below `folder` from the text of `/proc/mounts`, innermost first."""
    points = [line.split()[1].replace("\\040", " ") for line in mounts.splitlines()]
    return tuple(sorted((point for point in points if point.startswith(f"{folder}/")), reverse=True))


def _refuse_foreign_folder(state: Path) -> None:
    if state.exists() and not (state / MARKER).exists() and any(state.iterdir()):
        raise ClusterError(
            f"{state} holds files of something else", "point LOCALCLUSTER_STATE at a new or empty folder"
        )


def _stray_files(settings: Settings) -> list[Path]:
    """Return what containerd, the kubelet and CNI wrote outside the state folder for this cluster."""
    strays = [result for result in _CNI_RESULTS.glob("*") if _mentions(result, settings.state)]
    for link in _CONTAINER_LOG_LINKS.glob("*.log"):
        with suppress(OSError):
            if str(link.readlink()).startswith(f"{settings.state}/"):
                strays.append(link)
    for address in settings.state.glob("containerd/state/io.containerd.runtime.v2.task/*/*/address"):
        socket = Path(address.read_text().strip().removeprefix("unix://"))
        if socket.parent == _SHIM_SOCKETS:
            strays.append(socket)
    return strays


def _mentions(file: Path, folder: Path) -> bool:
    """Tell whether a result of CNI belongs to a pod whose namespace is mounted below `folder`."""
    with suppress(OSError):
        return f'"{folder}/' in file.read_text(errors="replace")
    return False
