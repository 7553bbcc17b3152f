"""Loading only what a node lacks: an image archive without the layers that are there already.

All images of this project share their base, and a change of source code changes only the last layer. An
archive of half a gigabyte then shrinks to a few hundred kilobytes, and loading it takes a second.
"""

from __future__ import annotations

import io
import json
import tarfile
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"


def write_thin(archive: Path, target: Path, is_present: Callable[[str], bool]) -> bool:
    """Write the image of a Docker archive to `target` as an OCI archive without the layers that are present.

    `is_present` is asked with the hex SHA-256 of each uncompressed layer. Returns False, and writes nothing,
    if `archive` is no Docker archive of a single image: load it as it is then.
    """
    with tarfile.open(archive) as source:
        images = _docker_images(source)
        if len(images) != 1 or not images[0].get("RepoTags"):
            return False
        (image,) = images
        config = _read(source, image["Config"])
        layers = [
            (digest.removeprefix("sha256:"), _member(source, name))
            for digest, name in zip(json.loads(config)["rootfs"]["diff_ids"], image["Layers"], strict=True)
        ]
        manifest = _manifest(config, [(digest, member.size) for digest, member in layers])
        with tarfile.open(target, "w") as sink:
            _add(sink, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
            _add(sink, "index.json", _index(manifest, image["RepoTags"][0]))
            for blob in (manifest, config):
                _add(sink, f"blobs/sha256/{sha256(blob).hexdigest()}", blob)
            for digest, member in layers:
                if not is_present(digest):
                    header = tarfile.TarInfo(f"blobs/sha256/{digest}")
                    header.size = member.size
                    sink.addfile(header, source.extractfile(member))
    return True


def _docker_images(source: tarfile.TarFile) -> list[dict[str, Any]]:
    """Return the images that a Docker archive lists; none if this is another kind of archive."""
    if "manifest.json" not in source.getnames():
        return []
    return list(json.loads(_read(source, "manifest.json")))


def _member(source: tarfile.TarFile, name: str) -> tarfile.TarInfo:
    """Return the file `name`, following the links by which older archives name their layers."""
    member = source.getmember(name)
    while member.issym():
        folder = member.name.rpartition("/")[0]
        member = source.getmember(member.linkname.removeprefix("../") if folder else member.linkname)
    return member


def _read(source: tarfile.TarFile, name: str) -> bytes:
    file = source.extractfile(name)
    return file.read() if file else b""


def _descriptor(media_type: str, digest: str, size: int) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": size}


def _manifest(config: bytes, layers: list[tuple[str, int]]) -> bytes:
    document = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _descriptor(_CONFIG, sha256(config).hexdigest(), len(config)),
        "layers": [_descriptor(_LAYER, digest, size) for digest, size in layers],
    }
    return json.dumps(document).encode()


def _index(manifest: bytes, tag: str) -> bytes:
    entry = _descriptor(_MANIFEST, sha256(manifest).hexdigest(), len(manifest))
    entry["annotations"] = {"io.containerd.image.name": tag}
    return json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()


def _add(sink: tarfile.TarFile, name: str, content: bytes) -> None:
    header = tarfile.TarInfo(name)
    header.size = len(content)
    sink.addfile(header, io.BytesIO(content))
