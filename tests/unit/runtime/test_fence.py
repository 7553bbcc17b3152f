"""A process whose time is over ends, also in its sleep."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

_PREAMBLE = "import os, signal, time; from chaffinch.runtime.fence import arm; "


def run(story: str) -> tuple[int, str]:
    """Run a story in a process of its own; return its exit code and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", _PREAMBLE + story], capture_output=True, text=True, timeout=20, check=False
    )
    assert not done.stderr
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize(
    "sleep",
    ["time.sleep(10)", "sum(range(10**10))"],
    ids=["waiting", "busy"],
)
def test_a_process_ends_when_its_time_is_over_whatever_it_does(sleep: str) -> None:
    assert run(f"arm(0.2); {sleep}; print('it woke')") == (-signal.SIGALRM, "")


def test_a_process_that_slept_over_the_end_of_its_time_does_not_wake_up() -> None:
    story = "arm(0.3); os.kill(os.getpid(), signal.SIGSTOP); print('it woke', flush=True)"
    with subprocess.Popen([sys.executable, "-c", _PREAMBLE + story], stdout=subprocess.PIPE) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        time.sleep(0.5)
        process.send_signal(signal.SIGCONT)
        printed, _ = process.communicate(timeout=10)
    assert (process.returncode, printed) == (-signal.SIGALRM, b"")


def test_more_time_and_no_fence_let_it_live() -> None:
    assert run("arm(0.2); arm(5); time.sleep(0.4); arm(0.2); arm(0); time.sleep(0.4); print('alive')") == (
        0,
        "alive",
    )
