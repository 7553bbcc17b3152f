"""Loading skips layers that the node has, and never changes what an image is."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from localcluster.archives import write_thin

_LAYERS = (b"base layer", b"source layer")
_DIGESTS = tuple(hashlib.sha256(layer).hexdigest() for layer in _LAYERS)
_CONFIG = json.dumps(
    {"rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in _DIGESTS]}}
).encode()


def _write(path: Path, files: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
        for name, target in (links or {}).items():
            header = tarfile.TarInfo(name)
            header.type, header.linkname = tarfile.SYMTYPE, target
            archive.addfile(header)
    return path


def _docker_manifest(*layers: str) -> bytes:
    return json.dumps(
        [{"Config": "config.json", "RepoTags": ["localhost/x:dev"], "Layers": list(layers)}]
    ).encode()


@pytest.fixture
def docker_archive(tmp_path: Path) -> Path:
    files = {"one.tar": _LAYERS[0], "two.tar": _LAYERS[1], "config.json": _CONFIG}
    return _write(tmp_path / "docker.tar", {**files, "manifest.json": _docker_manifest("one.tar", "two.tar")})


def _read(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("present", "want_layers"),
    [((), _LAYERS), (_DIGESTS[:1], _LAYERS[1:]), (_DIGESTS, ())],
    ids=["an empty node gets all", "a known base is left out", "a known image is left out whole"],
)
def test_only_missing_layers_are_written(
    docker_archive: Path, tmp_path: Path, present: tuple[str, ...], want_layers: tuple[bytes, ...]
) -> None:
    assert write_thin(docker_archive, tmp_path / "thin.tar", lambda digest: digest in present)

    found = _read(tmp_path / "thin.tar")
    index = json.loads(found["index.json"])
    (entry,) = index["manifests"]
    manifest = json.loads(found[f"blobs/sha256/{entry['digest'].removeprefix('sha256:')}"])

    assert entry["annotations"] == {"io.containerd.image.name": "localhost/x:dev"}
    assert found[f"blobs/sha256/{manifest['config']['digest'].removeprefix('sha256:')}"] == _CONFIG
    assert [(layer["digest"], layer["size"]) for layer in manifest["layers"]] == [
        (f"sha256:{digest}", len(layer)) for digest, layer in zip(_DIGESTS, _LAYERS, strict=True)
    ]
    blobs = {content for name, content in found.items() if name.startswith("blobs/")}
    assert blobs & set(_LAYERS) == set(want_layers)
    assert all(
        hashlib.sha256(found[name]).hexdigest() == Path(name).name for name in found if "blobs/" in name
    )


def test_layers_that_are_links_are_followed(tmp_path: Path) -> None:
    files = {"one.tar": _LAYERS[0], "two.tar": _LAYERS[1], "config.json": _CONFIG}
    files["manifest.json"] = _docker_manifest("a/layer.tar", "b/layer.tar")
    links = {"a/layer.tar": "../one.tar", "b/layer.tar": "../two.tar"}
    write_thin(_write(tmp_path / "docker.tar", files, links), tmp_path / "thin.tar", lambda _: False)
    assert set(_LAYERS) <= set(_read(tmp_path / "thin.tar").values())


@pytest.mark.parametrize(
    "files",
    [{"oci-layout": b"{}", "index.json": b"{}"}, {"manifest.json": b"[]"}],
    ids=["an OCI archive", "no image"],
)
def test_another_kind_of_archive_is_left_to_be_loaded_as_it_is(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    archive = _write(tmp_path / "other.tar", files)
    assert not write_thin(archive, tmp_path / "thin.tar", lambda _: False)
    assert not (tmp_path / "thin.tar").exists()
