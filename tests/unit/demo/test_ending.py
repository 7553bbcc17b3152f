from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo import __main__ as demo
from demo.scenes import FIRST
from demo.screen import Screen
from stage.users import Users

STARTED = 'for last; do :; done; echo "{}" > "${last#--out=}"'
"""A traffic maker's first report; its folder is the value of its last argument."""
END_THE_DEMO = "kill -TERM $PPID"


@pytest.fixture(autouse=True)
def _handler_of_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    "says",
    [f"{STARTED}; sleep 0.5; {END_THE_DEMO}", f"sleep 0.5; {END_THE_DEMO}"],
    ids=["while they call", "while they start"],
)
def test_sigterm_ends_the_demo_with_its_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    pid = tmp_path / "pid"
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho $$ > {pid}\n{says}\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))

    def prepare(_: Screen) -> None:
        with Users(FIRST, tmp_path / "users.json"):
            time.sleep(30)

    monkeypatch.setattr(demo, "_prepare", prepare)
    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(tmp_path / "demo.json")])
    with pytest.raises(SystemExit) as caught:
        demo.main()
    assert caught.value.code == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
