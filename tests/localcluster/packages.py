"""Debian's part of the cluster: what is installed, and what is only unpacked.

Tools are installed as packages. Containerd, runc and the CNI plugins are downloaded and unpacked into the
cache instead: installing them would start (and enable at boot) a system service that nobody asked for,
and would push out the packages of a Docker that may be there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from localcluster.errors import ClusterError
from localcluster.shell import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from localcluster.progress import Progress

INSTALLED = {
    "ip": "iproute2",
    "nft": "nftables",
    "conntrack": "conntrack",
    "openssl": "openssl",
    "nsenter": "util-linux",
    "buildah": "buildah",
    "debootstrap": "debootstrap",
}
"""Program → the package that brings it."""

SHELLS = {"fish": "fish", "zsh": "zsh"}
"""The same of shells whose completion is tested; no cluster needs them."""

UNPACKED = ("containerd", "runc", "containernetworking-plugins")

_MARKER = ".complete"


def missing(search_path: str | None = None, wanted: Mapping[str, str] = INSTALLED) -> tuple[str, ...]:
    """Return the packages whose program cannot be found."""
    return tuple(
        package for program, package in wanted.items() if shutil.which(program, path=search_path) is None
    )


def ensure_installed(progress: Progress, programs: Mapping[str, str] = INSTALLED) -> None:
    """Install what is missing, as root on Debian; otherwise say which packages to install.

    Raises `ClusterError` with the `apt-get` line when this program cannot install them itself.
    """
    wanted = missing(wanted=programs)
    if not wanted:
        return
    line = f"apt-get install --no-install-recommends {' '.join(wanted)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise ClusterError(f"Debian packages are missing: {', '.join(wanted)}", f"as root: {line}")
    with progress.step(f"Installing Debian packages: {', '.join(wanted)}", usually="30 s"):
        _apt("update", "-q")
        _apt("install", "-y", "-q", "--no-install-recommends", *wanted)


def ensure_unpacked(cache: Path, progress: Progress) -> Path:
    """Return the folder that holds the unpacked packages (`usr/bin`, `usr/lib/cni`), making it if need be."""
    target = folder_for(cache)
    if (target / _MARKER).exists():
        return target
    if shutil.which("apt-get") is None:
        raise ClusterError(f"{', '.join(UNPACKED)} come from Debian packages", "use a Debian machine")
    with progress.step(f"Unpacking from Debian packages: {', '.join(UNPACKED)}", usually="10 s"):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        if not _is_known(UNPACKED):
            _apt("update", "-q")
        with tempfile.TemporaryDirectory(prefix="localcluster-") as downloads:
            Path(downloads).chmod(0o755)  # apt downloads as a user of its own
            _apt("download", *UNPACKED, cwd=Path(downloads))
            for package in sorted(Path(downloads).glob("*.deb")):
                run(["dpkg-deb", "-x", package, target], remedy="check the free disk space")
        (target / _MARKER).touch()
    return target


def folder_for(cache: Path) -> Path:
    """Return where the unpacked packages belong, there or not."""
    return cache / "debian"


def _is_known(packages: tuple[str, ...]) -> bool:
    """Tell whether apt's lists (empty on a fresh machine) know these packages."""
    shown = run(["apt-cache", "policy", *packages], remedy="apt-get update")
    return shown.count("Candidate:") - shown.count("Candidate: (none)") == len(packages)


def _apt(*words: str, cwd: Path | None = None) -> None:
    run(
        ["apt-get", *words],
        cwd=cwd,
        environment={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        remedy=f"run `apt-get {' '.join(words)}` by hand and look at what it says",
    )
