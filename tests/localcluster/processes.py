"""Starting the cluster's programs, and ending exactly those.

A process id alone proves nothing: ids are reused. Each program is written down with its id, its start
time in clock ticks and the id of this boot, and it is signalled through a pidfd that was opened before
the three were compared, so that a stranger who got the id later can never be hit.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from localcluster.errors import PROGRAM, ClusterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_START_TIME_FIELD = 22  # of /proc/PID/stat, counted from 1 as proc(5) does


@dataclass(frozen=True)
class ProcessRecord:
    """What identifies one process for good: `start` is in clock ticks since the boot `boot`."""

    name: str
    pid: int
    start: int
    boot: str


def parse_start_time(stat: str) -> int:
    """Return the start time in clock ticks from the text of `/proc/PID/stat`.

    The second field is the program's name in brackets and may itself hold spaces and brackets, so
    fields are counted from the last closing one.
    """
    after_name = stat.rpartition(")")[2].split()
    return int(after_name[_START_TIME_FIELD - 3])


def start_time(pid: int) -> int | None:
    """Return when process `pid` started, in clock ticks since boot; None if there is none (or a zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if stat.rpartition(")")[2].split()[0] == "Z":
        return None
    return parse_start_time(stat)


def boot_id() -> str:
    """Return the random id that the kernel chose at boot: start times are only comparable within one."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class ProcessTable:
    """The programs of one cluster, one file `NAME.json` each in `folder`."""

    def __init__(self, folder: Path, logs: Path) -> None:
        self._folder = folder
        self._logs = logs

    def start(self, name: str, argv: Sequence[str], environment: Mapping[str, str]) -> ProcessRecord:
        """Start `argv` in its own session with its output in `NAME.log`, and write it down."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._logs.mkdir(parents=True, exist_ok=True)
        with (self._logs / f"{name}.log").open("ab") as log:
            child = subprocess.Popen(
                argv,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        record = ProcessRecord(name, child.pid, start_time(child.pid) or 0, boot_id())
        child.returncode = 0  # it outlives this program on purpose: no warning when the handle goes
        (self._folder / f"{name}.json").write_text(json.dumps(asdict(record)))
        return record

    def records(self) -> tuple[ProcessRecord, ...]:
        """Return every program that was written down, running or not, in order of name."""
        found = []
        for path in sorted(self._folder.glob("*.json")):
            with suppress(ValueError, TypeError):  # half written when `up` was killed: found by its cgroup
                found.append(ProcessRecord(**json.loads(path.read_text())))
        return tuple(found)

    def running(self) -> dict[str, int]:
        """Return the process id of each program that still runs."""
        return {record.name: record.pid for record in self.records() if is_running(record)}

    @contextmanager
    def asleep(self, name: str) -> Iterator[None]:
        """Let one program do nothing for the length of the block; it goes on however the block ends.

        Raises `ClusterError` if it does not run.
        """
        handles = [_open_verified(record) for record in self.records() if record.name == name]
        if not handles or handles[0] is None:
            raise ClusterError(f"{name} does not run", f"{PROGRAM} status")
        try:
            _signal(handles[0], signal.SIGSTOP)
            yield
        finally:
            _signal(handles[0], signal.SIGCONT)
            os.close(handles[0])

    def stop(self, names: Sequence[str], grace: float) -> None:
        """End these programs: ask all at once, wait up to `grace` seconds, then insist."""
        wanted = [record for record in self.records() if record.name in names]
        handles = [handle for record in wanted if (handle := _open_verified(record)) is not None]
        try:
            for handle in handles:
                _signal(handle, signal.SIGTERM)
            remaining = _wait(handles, grace)
            for handle in remaining:
                _signal(handle, signal.SIGKILL)
            _wait(remaining, grace)
        finally:
            for handle in handles:
                os.close(handle)
        for record in wanted:
            (self._folder / f"{record.name}.json").unlink(missing_ok=True)


def is_running(record: ProcessRecord) -> bool:
    """Tell whether the very process that was written down still runs."""
    return record.boot == boot_id() and record.start == start_time(record.pid)


def _open_verified(record: ProcessRecord) -> int | None:
    """Return a pidfd of the recorded process, or None if that process is gone."""
    try:
        handle = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return None
    if is_running(record):
        return handle
    os.close(handle)
    return None


def _signal(handle: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, number)


def _wait(handles: Sequence[int], seconds: float) -> list[int]:
    """Return those of `handles` (pidfds: readable once the process ended) that outlive `seconds`."""
    deadline = time.monotonic() + seconds
    remaining = list(handles)
    while remaining and (left := deadline - time.monotonic()) > 0:
        ended, _, _ = select.select(remaining, [], [], left)
        remaining = [handle for handle in remaining if handle not in ended]
    return remaining
