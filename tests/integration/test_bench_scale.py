"""The measurement of scale works on a small fleet, and its figures are in the form that others read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from localcluster import Cluster, kwok
from localcluster.kubectl import Kubectl
from localcluster.settings import REPOSITORY
from stage.install import uninstall

pytestmark = [pytest.mark.cluster, pytest.mark.full, pytest.mark.alone]

SIZE = {"rollouts": 20, "active": 4, "active-seconds": 20, "idle-seconds": 30}
AT_REST = f"writes but of the Lease in {SIZE['idle-seconds']} s, {SIZE['rollouts']} idle"
MOST_SECONDS = 900


@pytest.fixture
def cleared(cluster: Cluster) -> Iterator[None]:
    """A cluster with pretended nodes, on which nothing is left of the fleet and of the chart afterwards."""
    kubectl = Kubectl(cluster, "default")
    assert kubectl.get("nodes", "-l", f"type={kwok.NAME}")["items"], "python -m localcluster up --kwok"
    yield
    kubectl("delete", "namespace", "scale-00", "--ignore-not-found", "--wait=false")
    uninstall()


def ended(command: Sequence[str], log: Path) -> int:
    """Wait for the end of a command; asked to end when time is over, it ends what it has started."""
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY / 'tests'}:{REPOSITORY / 'operator'}"}
    with (
        log.open("w") as output,
        subprocess.Popen(command, env=environment, stdout=output, stderr=output) as process,
    ):
        try:
            return process.wait(MOST_SECONDS)
        finally:
            process.terminate()


@pytest.mark.usefixtures("cleared")
def test_a_small_fleet_meets_the_targets_and_each_figure_is_a_row_of_the_report(tmp_path: Path) -> None:
    report, log = tmp_path / "bench-scale.json", tmp_path / "bench-scale.log"
    size = [f"--{name}={number}" for name, number in SIZE.items()]
    code = ended([sys.executable, "-m", "bench.scale", *size, f"--report={report}"], log)
    print(log.read_text())
    assert code == 0
    rows = json.loads(report.read_text())
    assert isinstance(rows, list)
    assert {tuple(row) for row in rows} == {("metric", "value", "target", "ok")}
    assert [row["ok"] for row in rows] == [True] * len(rows)
    figures = {row["metric"]: (row["value"], row["target"]) for row in rows}
    assert len(figures) == len(rows)
    assert figures[AT_REST] == (0, 0)
