"""What is needed before a cluster can start, and what a person reads when it is missing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from localcluster import (
    ExistingCluster,
    LocalCluster,
    cli,
    current,
    netns,
    packages,
    pki,
    programs,
)
from localcluster.errors import PROGRAM, ClusterError
from localcluster.progress import Progress
from localcluster.settings import REPOSITORY, Settings
from localcluster.shell import run


def _programs(folder: Path, *names: str) -> str:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_settings_come_from_the_environment_with_a_default_for_each() -> None:
    assert Settings.from_environment({"XDG_CACHE_HOME": "/c"}) == Settings(
        "chaffinch", Path("/tmp/localcluster-chaffinch"), Path("/c/chaffinch/localcluster")
    )
    chosen = {"LOCALCLUSTER_NAME": "two", "LOCALCLUSTER_STATE": "/s", "LOCALCLUSTER_CACHE": "/k"}
    assert Settings.from_environment(chosen) == Settings("two", Path("/s"), Path("/k"))


@pytest.mark.parametrize("name", ["", "Two", "a/b", "-a", "a" * 40])
def test_a_name_that_cannot_name_a_namespace_is_refused(name: str) -> None:
    with pytest.raises(ClusterError, match="is not a name"):
        Settings.from_environment({"LOCALCLUSTER_NAME": name})


def test_the_kind_of_cluster_is_chosen_by_the_environment() -> None:
    assert isinstance(current({}), LocalCluster)
    assert isinstance(current({"LOCALCLUSTER_KIND": "existing"}), ExistingCluster)
    with pytest.raises(ClusterError, match="LOCALCLUSTER_KIND='other' is no kind of cluster"):
        current({"LOCALCLUSTER_KIND": "other"})


def test_an_existing_cluster_needs_a_kubeconfig_and_takes_images_from_a_registry_only() -> None:
    cluster = ExistingCluster({"KUBECONFIG": "/k"})
    assert (cluster.kubeconfig, cluster.audit_log, cluster.inside(["ls"]).argv) == (Path("/k"), None, ("ls",))
    with pytest.raises(ClusterError, match="PROMETHEUS_URL is not set"):
        _ = cluster.prometheus_url
    with pytest.raises(ClusterError, match="push the image to a registry"):
        cluster.load_image(Path("x.tar"))


def test_missing_packages_are_found_by_their_programs(tmp_path: Path) -> None:
    present = _programs(tmp_path / "bin", *(set(packages.INSTALLED) - {"buildah", "nft"}))
    assert packages.missing(present) == ("nftables", "buildah")


def test_shells_are_installed_for_the_tests_but_not_for_every_cluster(tmp_path: Path) -> None:
    assert packages.missing(_programs(tmp_path / "bin", "zsh"), packages.SHELLS) == ("fish",)
    assert not packages.SHELLS.keys() & packages.INSTALLED.keys()


def test_without_root_the_missing_packages_are_listed_with_the_line_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", _programs(tmp_path / "bin", *(set(packages.INSTALLED) - {"nft"}), "apt-get"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        ClusterError, match=r"missing: nftables.*apt-get install --no-install-recommends nftables"
    ):
        packages.ensure_installed(Progress())


def test_a_command_without_root_fails_on_one_line_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("LOCALCLUSTER_STATE", str(tmp_path / "state"))
    assert cli.main(["up"]) == 1
    assert capsys.readouterr().err == (
        "localcluster: This needs root (namespaces, mounts, cgroups)."
        " Do: run it again as root, or with sudo -E\n"
    )


def test_a_command_inside_a_cluster_that_is_not_up_says_how_to_start_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("LOCALCLUSTER_NAME", "never-started")
    monkeypatch.setenv("LOCALCLUSTER_STATE", str(tmp_path / "state"))
    assert cli.main(["kubectl", "get", "pods"]) == 1
    assert f"The cluster is not up. Do: {PROGRAM} up" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "want_words"),
    [
        (["kubectl", "-n", "x", "get", "pods"], ["kubectl", "-n", "x", "get", "pods"]),
        (["helm", "--help"], ["helm", "--help"]),
        (["exec", "--", "pytest", "-q"], ["pytest", "-q"]),
        (["exec", "ls", "--", "-l"], ["ls", "--", "-l"]),
    ],
)
def test_every_word_after_a_program_is_that_programs(
    argv: list[str], want_words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    became: list[tuple[str, ...]] = []
    monkeypatch.setattr(cli, "current", lambda: ExistingCluster({"KUBECONFIG": "/k"}))
    monkeypatch.setattr(os, "execvpe", lambda _file, words, _environment: became.append(words))
    cli.main(argv)
    assert became == [tuple(want_words)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("module a/b1.2\n\ngo 1.26.7\n", (1, 26, 7)),
        ("go version go1.27 linux/arm64", (1, 27, 0)),
        ("go version devel +abc", (0, 0, 0)),
    ],
)
def test_go_versions_are_read(text: str, want: tuple[int, int, int]) -> None:
    assert programs.parse_go_version(text) == want


def test_the_binaries_know_the_kubernetes_version_of_the_module() -> None:
    go_mod = (programs.SOURCES / "go.mod").read_text()
    version = programs.kubernetes_version(go_mod)
    assert f"gitVersion={version}" in programs.link_flags(go_mod)
    assert f"k8s.io/api => k8s.io/api {version.replace('v1.', 'v0.')}" in go_mod


def test_any_change_of_the_sources_asks_for_a_new_build(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "go.mod").write_text("module x")
    (tmp_path / "tool" / "main.go").write_text("package main")
    hashes = {programs.source_hash(tmp_path)}
    (tmp_path / "notes.txt").write_text("no source")
    assert programs.source_hash(tmp_path) in hashes
    (tmp_path / "go.sum").write_text("x h1:y")
    hashes.add(programs.source_hash(tmp_path))
    (tmp_path / "tool" / "main.go").write_text("package main // changed")
    hashes.add(programs.source_hash(tmp_path))
    assert len(hashes) == 3


def test_kwok_is_no_part_of_what_every_cluster_builds() -> None:
    settings = Settings.from_environment({"XDG_CACHE_HOME": "/c"})
    folders = {programs.folder_for(settings, bundle) for bundle in (programs.CORE, programs.KWOK)}
    assert len(folders) == 2
    assert not programs.KWOK.sources.is_relative_to(programs.CORE.sources)


def test_all_that_can_be_asked_for_is_built_before_a_cluster_is_entered() -> None:
    bundles = {each for each in vars(programs).values() if isinstance(each, programs.Bundle)}
    assert set(programs.ALL) == bundles
    recipe = (REPOSITORY / "Makefile").read_text().partition("define in_cluster\n")[2].partition("\nendef")[0]
    assert [line.strip() for line in recipe.splitlines()][:3] == [
        "$(CLUSTER) down",
        "$(CLUSTER) build",
        "$(CLUSTER) up --kwok",
    ]


def test_inside_the_network_of_a_cluster_nothing_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings("inside", tmp_path / "state", tmp_path / "cache")
    monkeypatch.setattr(netns, "is_inside", lambda namespace: namespace == settings.network_namespace)
    with pytest.raises(ClusterError, match=r"Not built yet.*promtool.*localcluster build"):
        programs.ensure(settings, Progress(), programs.PROMTOOL)


def test_certificates_say_who_a_component_is_and_keys_are_private(tmp_path: Path) -> None:
    pki.issue_all(tmp_path)
    wanted = ("-noout", "-subject", "-ext", "subjectAltName")

    shown = run(["openssl", "x509", "-in", tmp_path / "node.crt", *wanted], remedy="")
    assert "O = system:nodes, CN = system:node:node1" in shown
    assert "DNS:node1, IP Address:10.99.0.1" in shown

    verified = run(["openssl", "verify", "-CAfile", tmp_path / "ca.crt", tmp_path / "admin.crt"], remedy="")
    assert verified.endswith(": OK\n")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
