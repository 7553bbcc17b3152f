"""What the demo prints can be typed: it names the cluster, the namespace and the way there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from chaffinch.cli import parser
from demo import hints

ROOT = Path(__file__).parents[3]
PLAIN: dict[str, str] = {}
NAMED = {"LOCALCLUSTER_NAME": "mine", "LOCALCLUSTER_STATE": "/tmp/my folder", "LOCALCLUSTER_CACHE": "/tmp/c"}
NAMED_AS_TYPED = "LOCALCLUSTER_NAME=mine LOCALCLUSTER_STATE='/tmp/my folder' "


@pytest.mark.parametrize(
    ("environment", "before"), [(PLAIN, ""), ({"LOCALCLUSTER_NAME": ""}, ""), (NAMED, NAMED_AS_TYPED)]
)
def test_each_line_that_reaches_the_cluster_names_the_one_that_the_demo_ran_on(
    environment: dict[str, str], before: str
) -> None:
    assert hints.make("stop", environment=environment) == f"{before}make stop"
    assert hints.kubectl("demo", "get", "pods", environment=environment) == (
        f"{before}make kubectl ARGS='-n demo get pods'"
    )
    assert hints.kubectl("", "get", "nodes", environment=environment) == (
        f"{before}make kubectl ARGS='get nodes'"
    )
    assert hints.chaffinch("list", inside=True, environment=environment) == (
        f"{before}PYTHONPATH=tests:operator .venv/bin/python -m localcluster exec -- .venv/bin/chaffinch list"
    )


def test_a_command_that_asks_no_cluster_needs_no_way_there() -> None:
    line = hints.chaffinch("baseline", "verify", "build/chat v1.yaml", inside=False, environment=NAMED)
    assert line == ".venv/bin/chaffinch baseline verify 'build/chat v1.yaml'"
    assert callable(parser().parse_args(["baseline", "verify", "build/chat v1.yaml"]).run)


@pytest.mark.parametrize("target", ["kubectl", "forward", "status", "stop"])
def test_the_targets_that_the_demo_names_are_there(target: str) -> None:
    line = hints.make(target, "get pods", environment=PLAIN)
    done = subprocess.run(
        ["bash", "-c", f"{line} --dry-run"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
