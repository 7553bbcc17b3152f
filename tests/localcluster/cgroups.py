"""The cgroup that holds every process of the cluster, containers included.

The process table knows the programs that `up` started; what those start in turn (container shims,
containers) is known by the cgroup they are born into and cannot leave. So `down` finds all of them, also
after a `kill -9` of everything that could have told, and nobody else's process is ever among them.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from localcluster.errors import ClusterError

_ROOT = Path("/sys/fs/cgroup")
_PROGRAMS = "programs"  # below the cluster's cgroup, beside the kubelet's `kubepods`
_KILL_SECONDS = 10.0


class ClusterCgroup:
    """The cgroup named after the cluster, in each hierarchy (v1) or in the only one (v2)."""

    def __init__(self, name: str, root: Path = _ROOT) -> None:
        self.path = f"/localcluster-{name}"
        self._root = root
        self._unified = (root / "cgroup.controllers").exists()
        hierarchies = (
            [root] if self._unified else sorted(p for p in root.iterdir() if (p / "cgroup.procs").exists())
        )
        self._folders = tuple(hierarchy / self.path.strip("/") for hierarchy in hierarchies)
        tracking = root if self._unified else root / "pids"
        self._tracked = tracking / self.path.strip("/")

    def create(self) -> None:
        """Make the cgroup everywhere: the kubelet wants its root to exist in each hierarchy."""
        try:
            if self._unified:
                _delegate(self._root)
            for folder in self._folders:
                folder.mkdir(exist_ok=True)
                _inherit_cpuset(folder)
            if self._unified:
                _delegate(self._tracked)
            (self._tracked / _PROGRAMS).mkdir(exist_ok=True)
        except OSError as error:
            raise ClusterError(
                f"Cannot make the cgroup {self._tracked} ({error.strerror})",
                "run as root where /sys/fs/cgroup is writable",
            ) from None

    def enter(self) -> tuple[str, ...]:
        """Return the words before a command that make it start as a member."""
        return ("sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self._tracked / _PROGRAMS / "cgroup.procs"))

    def members(self) -> tuple[int, ...]:
        """Return the ids of all processes in the cgroup and below it."""
        found: list[int] = []
        for path in self._tracked.rglob("cgroup.procs"):
            with suppress(OSError):  # the cgroup went while we looked
                found.extend(int(line) for line in path.read_text().split())
        return tuple(found)

    def destroy(self) -> None:
        """Kill every member and remove the cgroup."""
        deadline = time.monotonic() + _KILL_SECONDS
        while members := self.members():
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"Processes {members} do not die", "look at them with `ps`, then run `down` again"
                )
            for pid in members:
                _kill_member(pid, self.path)
            time.sleep(0.05)
        for top in self._folders:
            for folder in sorted((top, *top.rglob("*/")), reverse=True):
                with suppress(OSError):
                    folder.rmdir()


def _delegate(folder: Path) -> None:
    """Let the children of a v2 cgroup use every controller that this one may use."""
    for controller in (folder / "cgroup.controllers").read_text().split():
        with suppress(OSError):
            (folder / "cgroup.subtree_control").write_text(f"+{controller}")


def _inherit_cpuset(folder: Path) -> None:
    """Fill a new v1 cpuset, which starts empty and would refuse every process."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        own = folder / name
        if own.exists() and (folder / "cgroup.procs").exists() and not own.read_text().strip():
            with suppress(OSError):  # v2 keeps it empty on purpose: it then inherits
                own.write_text((folder.parent / name).read_text())


def _kill_member(pid: int, cgroup: str) -> None:
    """Kill `pid` if it is still a member: the id is checked after a handle on it was opened."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            if f":{cgroup}/" in Path(f"/proc/{pid}/cgroup").read_text():
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        except FileNotFoundError:
            pass
        finally:
            os.close(handle)
