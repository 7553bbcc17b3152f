"""Only the very process that was written down is ever ended."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from localcluster import ClusterError, processes
from localcluster.processes import ProcessRecord, ProcessTable

if TYPE_CHECKING:
    from collections.abc import Iterator

_STUBBORN = ("sh", "-c", 'trap "" TERM; echo ready; while :; do sleep 0.05; done')


@pytest.fixture
def table(tmp_path: Path) -> Iterator[ProcessTable]:
    made = ProcessTable(tmp_path / "processes", tmp_path / "logs")
    yield made
    made.stop([record.name for record in made.records()], grace=0.2)


def _await(text: str, log: Path) -> None:
    deadline = time.monotonic() + 10
    while text not in log.read_text():
        assert time.monotonic() < deadline, f"{text!r} was not logged"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "want_start"),
    [("sleep", 4711), ("a b", 4711), ("evil) S 1 (x", 4711)],
    ids=["plain", "with a space", "with brackets"],
)
def test_the_start_time_is_found_whatever_a_program_is_called(name: str, want_start: int) -> None:
    fields = ["S", *["0"] * 18, str(want_start), "1", "2"]
    assert processes.parse_start_time(f"12 ({name}) {' '.join(fields)}\n") == want_start


def test_a_started_program_is_written_down_and_logs_to_its_own_file(
    table: ProcessTable, tmp_path: Path
) -> None:
    record = table.start("greeter", ["sh", "-c", "echo hello; exec sleep 60"], os.environ)
    _await("hello", tmp_path / "logs" / "greeter.log")

    assert table.records() == (record,)
    assert table.running() == {"greeter": record.pid}
    assert record == ProcessRecord(
        "greeter", record.pid, processes.start_time(record.pid) or 0, processes.boot_id()
    )


def test_stopping_ends_the_program_and_forgets_it(table: ProcessTable) -> None:
    record = table.start("sleeper", ["sleep", "60"], os.environ)
    table.stop(["sleeper"], grace=5)
    assert not processes.is_running(record)
    assert table.records() == ()


def _state_of(record: ProcessRecord) -> str:
    return Path(f"/proc/{record.pid}/stat").read_text().rpartition(")")[2].split()[0]


def _await_state(record: ProcessRecord, *, stopped: bool) -> None:
    deadline = time.monotonic() + 10
    while (_state_of(record) == "T") is not stopped:
        assert time.monotonic() < deadline, f"it is {_state_of(record)}"
        time.sleep(0.01)


def test_a_program_sleeps_for_the_length_of_a_block_and_goes_on_when_that_fails(table: ProcessTable) -> None:
    record = table.start("sleeper", ["sleep", "60"], os.environ)

    def fails_meanwhile() -> None:
        with table.asleep("sleeper"):
            _await_state(record, stopped=True)
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError, match="in between"):
        fails_meanwhile()
    _await_state(record, stopped=False)


def test_nothing_that_does_not_run_is_sent_to_sleep(table: ProcessTable) -> None:
    table.start("other", ["sleep", "60"], os.environ)
    with pytest.raises(ClusterError, match="sleeper does not run"), table.asleep("sleeper"):
        pass


def test_a_program_that_ignores_the_request_is_killed_after_the_grace(
    table: ProcessTable, tmp_path: Path
) -> None:
    record = table.start("stubborn", _STUBBORN, os.environ)
    _await("ready", tmp_path / "logs" / "stubborn.log")
    table.stop(["stubborn"], grace=0.1)
    assert not processes.is_running(record)


@pytest.mark.parametrize("field", ["start", "boot"], ids=["another start time", "another boot"])
def test_a_stranger_who_got_the_process_id_is_left_alone(
    table: ProcessTable, tmp_path: Path, field: str
) -> None:
    record = table.start("ours", ["sleep", "60"], os.environ)
    changed = dataclasses.asdict(record) | {
        field: {"start": record.start - 1, "boot": "an-earlier-boot"}[field]
    }
    (tmp_path / "processes" / "ours.json").write_text(json.dumps(changed))

    assert table.running() == {}
    table.stop(["ours"], grace=0.1)
    assert processes.is_running(record)
    os.kill(record.pid, signal.SIGKILL)


def test_a_record_that_was_half_written_is_passed_over(table: ProcessTable, tmp_path: Path) -> None:
    (tmp_path / "processes").mkdir()
    (tmp_path / "processes" / "half.json").write_text('{"name": "half", "pi')
    assert table.records() == ()


def test_a_zombie_is_not_running() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert processes.start_time(child.pid) is None
    child.wait()
