"""Building images with buildah, without Docker and without leaving a trace of this machine in them.

What makes rebuilds quick: the base image and every layer are kept in a store of our own in the cache,
and pip's downloads in a folder beside it, so that a change of source code repeats only the last layers.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from localcluster import images, packages
from localcluster.locks import exclusive
from localcluster.shell import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localcluster.images import ImageSource
    from localcluster.progress import Progress
    from localcluster.settings import Settings

BASE_TAG = "localhost/debian-python:12"
_SUITE = "bookworm"
_BASE_PACKAGES = ("ca-certificates", "python3", "python3-venv")
_USELESS = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/cache/apt",
    "var/lib/apt/lists",
)
_CERTIFICATES = Path("/etc/ssl/certs")
_PIP_CACHE = "/var/cache/pip"
_MOST_LAYERS = 80
_INDEX_OPTIONS = frozenset(
    {
        "index-url",
        "extra-index-url",
        "trusted-host",
        "cert",
        "client-cert",
        "proxy",
        "timeout",
        "default-timeout",
        "retries",
    }
)
"""The pip options that say how to reach the package index; others could change what is installed."""


@dataclass(frozen=True)
class Archive:
    """A built image: its tag and the archive that can be loaded."""

    tag: str
    path: Path


class ImageBuilder:
    """Builds into `cache/images`, with buildah's own store in `cache/buildah`."""

    def __init__(self, settings: Settings, progress: Progress) -> None:
        self._settings = settings
        self._progress = progress
        self._folder = settings.cache / "images"
        self._store = settings.cache / "buildah"

    def build(self, source: ImageSource) -> Archive:
        """Return the archive of `source`, building it only if something that goes into it has changed."""
        needs_base = "ARG BASE" in source.dockerfile.read_text() if source.dockerfile.exists() else False
        base = _base_hash() if needs_base else ""
        target = self._folder / f"{source.short_name}-{images.content_hash(source, base)}.tar"
        if target.exists():
            return Archive(source.tag, target)
        packages.ensure_installed(self._progress)
        with exclusive(self._store / "lock", "another image build", self._progress):
            if needs_base:
                self._ensure_base()
            with self._progress.step(
                f"Building image {source.tag}", usually="5 s; 1 min after new requirements"
            ):
                self._build(source, target)
            self._drop_old_layers()
        for old in self._folder.glob(f"{source.short_name}-{'[0-9a-f]' * 16}.tar"):
            if old != target:
                old.unlink(missing_ok=True)
        return Archive(source.tag, target)

    def _build(self, source: ImageSource, target: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="localcluster-image-") as scratch:
            context = Path(scratch) / "context"
            context.mkdir()
            images.stage(source, context)
            pip_conf = Path(scratch) / "pip.conf"
            pip_conf.write_text(
                pip_settings(run([sys.executable, "-m", "pip", "config", "list"], remedy="repair pip"))
            )
            (self._store / "pip").mkdir(parents=True, exist_ok=True)
            volumes = (
                f"{_CERTIFICATES}:{_CERTIFICATES}:ro",
                f"{pip_conf}:/etc/pip.conf:ro",
                f"{self._store / 'pip'}:{_PIP_CACHE}",
            )
            self._buildah(
                "build", "--layers", "--pull=never", "--build-arg", f"BASE={BASE_TAG}",
                *(f"--volume={volume}" for volume in volumes),
                "-f", str(source.dockerfile), "-t", source.tag, str(context),
            )  # fmt: skip
            self._export(source.tag, target)

    def _drop_old_layers(self) -> None:
        """Now and then remove layers that no image has any more: each build adds some."""
        if len(self._buildah("images", "--all", "--quiet").split()) > _MOST_LAYERS:
            with self._progress.step("Removing layers of old images"):
                self._buildah("rmi", "--prune")

    def _export(self, tag: str, target: Path) -> None:
        """Write the image as a Docker archive: uncompressed layers load three times as fast."""
        scratch = target.with_suffix(f".{os.getpid()}")
        self._buildah("push", tag, f"docker-archive:{scratch}:{tag}")
        scratch.rename(target)

    def _ensure_base(self) -> None:
        """Make the base image from Debian packages unless this very recipe is in the store."""
        marker = self._store / f"base-{_base_hash()}"
        if marker.exists():
            return
        with (
            self._progress.step(
                f"Making the base image {BASE_TAG} from Debian packages (once)", usually="2 min"
            ),
            tempfile.TemporaryDirectory(prefix="localcluster-base-") as scratch,
        ):
            root = Path(scratch) / "root"
            run(
                [
                    "debootstrap",
                    "--variant=minbase",
                    f"--include={','.join(_BASE_PACKAGES)}",
                    _SUITE,
                    root,
                    *_mirror(),
                ],
                remedy="check that `apt-get update` works on this machine",
            )
            for useless in _USELESS:
                shutil.rmtree(root / useless, ignore_errors=True)
                (root / useless).mkdir(parents=True)
            run(["tar", "-C", root, "-cf", Path(scratch) / "root.tar", "."], remedy="free some disk space")
            dockerfile = Path(scratch) / "Dockerfile"
            dockerfile.write_text('FROM scratch\nADD root.tar /\nCMD ["/bin/bash"]\n')
            self._buildah("build", "-f", str(dockerfile), "-t", BASE_TAG, scratch)
        marker.touch()

    def _buildah(self, command: str, *words: str) -> str:
        store = ("--root", str(self._store / "storage"), "--runroot", str(self._store / "run"))
        return run(
            ["buildah", *store, command, *words],
            environment={**os.environ, "BUILDAH_ISOLATION": "chroot"},
            remedy="correct what the message names; `rm -rf` of the cache's buildah folder starts afresh",
        )


def pip_settings(listed: str) -> str:
    """Return a pip.conf for a build, from what `pip config list` prints on this machine.

    Only how to reach the index is passed on, and it is mounted while building, so it is in no layer.
    Environment variables (`:env:`) win over files, as in pip itself.
    """
    found: dict[str, str] = {}
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        if option in _INDEX_OPTIONS:
            found[option] = str(ast.literal_eval(value))
    found |= {"cache-dir": _PIP_CACHE, "disable-pip-version-check": "true"}
    lines = [
        f"{option} = {value.strip().replace(chr(10), chr(10) + '  ')}" for option, value in found.items()
    ]
    return "\n".join(["[global]", *lines, ""])


def _base_hash() -> str:
    recipe = f"{_SUITE} {_BASE_PACKAGES} {_USELESS}"
    return hashlib.sha256(recipe.encode()).hexdigest()[:16]


def _mirror() -> Sequence[str]:
    """Return the archive that this machine's apt uses for Debian, if any, as debootstrap's argument."""
    listed = run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", "Created-By: Packages"],
        remedy="apt-get update",
    )
    return main_archive(listed)


def main_archive(listed: str) -> tuple[str, ...]:
    """Return (address,) of the first Debian archive in lines of `origin codename address`, or ()."""
    for line in listed.splitlines():
        origin, _, rest = line.partition(" ")
        codename, _, address = rest.partition(" ")
        if origin == "Debian" and codename.isalpha():  # not bookworm-updates, not bookworm-security
            return (address,)
    return ()
