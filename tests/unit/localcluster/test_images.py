"""An image is built again when, and only when, something that goes into it has changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from localcluster import builder, images
from localcluster.errors import ClusterError
from localcluster.images import ImageSource

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def source(tmp_path: Path) -> ImageSource:
    context = tmp_path / "context"
    for name, text in {
        "app/main.py": "print(1)",
        "app/sub/more.py": "",
        "app/__pycache__/x.pyc": "old",
    }.items():
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        (context / name).write_text(text)
    (context / "unused.txt").write_text("not copied")
    dockerfile = context / "Dockerfile"
    dockerfile.write_text("FROM scratch\nCOPY app /app/\nCOPY tool /usr/bin/tool\n")
    (tmp_path / "tool").write_text("#!/bin/sh")
    return ImageSource("localhost/trial:dev", dockerfile, context, {"tool": tmp_path / "tool"})


@pytest.mark.parametrize(
    ("dockerfile", "want_paths"),
    [
        ("FROM x\nCOPY a b /dst/", ("a", "b")),
        ("COPY --chown=1:1 ./a/ /dst/\nADD c.tar /", ("a", "c.tar")),
        ("COPY a \\\n     b \\\n     /dst/", ("a", "b")),
        ("COPY --from=build /opt /opt\ncopy a /a\nCOPY a /b", ("a",)),
        ("RUN echo COPY x y", ()),
    ],
    ids=["several", "flags and ADD", "over lines", "not from other stages, once", "no copy"],
)
def test_the_copied_paths_are_read_from_the_dockerfile(dockerfile: str, want_paths: tuple[str, ...]) -> None:
    assert images.copied_paths(dockerfile) == want_paths


@pytest.mark.parametrize("line", ["COPY . /app", "COPY ./ /app", 'COPY ["a", "/b"]'])
def test_a_copy_that_names_no_single_paths_is_refused(line: str) -> None:
    with pytest.raises(ClusterError, match="names no single paths"):
        images.copied_paths(line)


def test_the_context_holds_what_is_copied_and_nothing_else(source: ImageSource, tmp_path: Path) -> None:
    staged = tmp_path / "staged"
    staged.mkdir()
    images.stage(source, staged)
    files = {str(path.relative_to(staged)) for path in staged.rglob("*") if path.is_file()}
    assert files == {"app/main.py", "app/sub/more.py", "tool"}
    assert len({path.stat().st_mtime for path in staged.rglob("*")}) == 1


def test_times_and_files_that_are_not_copied_do_not_change_the_hash(source: ImageSource) -> None:
    before = images.content_hash(source, "base")
    (source.context / "unused.txt").write_text("changed")
    (source.context / "app/__pycache__/x.pyc").write_text("new")
    os.utime(source.context / "app/main.py", (1, 1))
    assert images.content_hash(source, "base") == before


def test_bytes_names_modes_the_dockerfile_and_the_base_change_the_hash(source: ImageSource) -> None:
    hashes = [images.content_hash(source, "base"), images.content_hash(source, "another base")]
    (source.context / "app/main.py").write_text("print(2)")
    hashes.append(images.content_hash(source, "base"))
    (source.context / "app/main.py").rename(source.context / "app/moved.py")
    hashes.append(images.content_hash(source, "base"))
    source.extra["tool"].chmod(0o755)
    hashes.append(images.content_hash(source, "base"))
    source.dockerfile.write_text(source.dockerfile.read_text() + "USER 1\n")
    hashes.append(images.content_hash(source, "base"))
    assert len(set(hashes)) == 6


def test_a_path_that_does_not_exist_is_named(source: ImageSource) -> None:
    source.dockerfile.write_text("COPY gone /x\n")
    with pytest.raises(ClusterError, match="copies gone, which does not exist"):
        images.content_hash(source, "base")


def test_pip_is_told_how_to_reach_the_index_and_nothing_else() -> None:
    listed = "\n".join(
        [
            ":env:.default-timeout='180'",
            ":env:.index-url='https://from.environment/simple'",
            ":env:.find-links='/some/wheels'",
            "global.cert='/etc/ssl/certs/ca-certificates.crt'",
            "global.index-url='https://from.file/simple'",
            "global.extra-index-url='\\nhttps://one/simple\\nhttps://two/simple'",
            "install.user='true'",
        ]
    )
    assert (
        builder.pip_settings(listed)
        == """[global]
cert = /etc/ssl/certs/ca-certificates.crt
index-url = https://from.environment/simple
extra-index-url = https://one/simple
  https://two/simple
default-timeout = 180
cache-dir = /var/cache/pip
disable-pip-version-check = true
"""
    )


@pytest.mark.parametrize(
    ("listed", "want"),
    [
        (
            "Debian bookworm-security a\nDebian bookworm-updates b\nDebian bookworm c\nDebian bookworm d",
            ("c",),
        ),
        ("Other bookworm x", ()),
        ("", ()),
    ],
)
def test_the_base_comes_from_the_machines_own_debian_archive(listed: str, want: tuple[str, ...]) -> None:
    assert builder.main_archive(listed) == want
