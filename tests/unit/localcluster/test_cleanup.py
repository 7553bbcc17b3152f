"""A crash leaves nothing behind for good, and cleaning up touches nothing of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcluster import cleanup
from localcluster.cgroups import ClusterCgroup
from localcluster.errors import ClusterError
from localcluster.settings import Settings


def test_mounts_of_the_state_folder_are_found_innermost_first() -> None:
    mounts = "\n".join(
        f"tmpfs {point} tmpfs rw 0 0"
        for point in ("/", "/state", "/state/a", "/state/a/b", "/state-of-others/c", "/state/with\\040space")
    )
    assert cleanup.mounts_below(Path("/state"), mounts) == ("/state/with space", "/state/a/b", "/state/a")


def test_a_folder_with_somebody_elses_files_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(ClusterError, match="holds files of something else"):
        cleanup.clean_up(Settings("trial", tmp_path, tmp_path / "cache"))
    assert (tmp_path / "thesis.txt").exists()


def test_a_v1_cgroup_is_made_in_each_hierarchy_and_tracked_in_one(tmp_path: Path) -> None:
    for hierarchy in ("cpuset", "pids"):
        (tmp_path / hierarchy).mkdir()
        (tmp_path / hierarchy / "cgroup.procs").touch()
    (tmp_path / "cpuset" / "cpuset.cpus").write_text("0-1\n")
    group = ClusterCgroup("trial", tmp_path)
    group.create()

    programs_file = tmp_path / "pids" / "localcluster-trial" / "programs" / "cgroup.procs"
    assert group.path == "/localcluster-trial"
    assert group.enter()[-1] == str(programs_file)
    assert (tmp_path / "cpuset" / "localcluster-trial").is_dir()
    programs_file.write_text("12\n34\n")
    assert group.members() == (12, 34)


def test_a_v2_cgroup_is_made_once_and_passes_its_controllers_on(tmp_path: Path) -> None:
    own = tmp_path / "localcluster-trial"
    own.mkdir()
    for folder in (tmp_path, own):  # files that the kernel would make
        (folder / "cgroup.controllers").write_text("pids\n")
    group = ClusterCgroup("trial", tmp_path)
    group.create()

    assert (own / "programs").is_dir()
    assert [(folder / "cgroup.subtree_control").read_text() for folder in (tmp_path, own)] == [
        "+pids",
        "+pids",
    ]
