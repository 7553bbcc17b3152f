"""Both ways to start the operator make the same process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaffinch.api.exits import OperatorExit
from crash.children import Forked, Fresh, Starter
from crash.operator_process import OperatorProcess
from loopback import free_port

END_SECONDS = 60.0
URL = "CHAFFINCH_PROMETHEUS_URL"


@pytest.fixture(params=[Fresh, Forked])
def starter(request: pytest.FixtureRequest) -> Starter:
    """Each way."""
    found: Starter = request.param
    return found


@pytest.fixture
def waiting(starter: Starter, tmp_path: Path) -> Iterator[OperatorProcess]:
    """An operator that waits for an API server."""
    nobody = f"http://127.0.0.1:{free_port()}"
    operator = OperatorProcess("one", nobody, tmp_path, {URL: nobody}, starter)
    operator.log.touch()
    operator.start()
    deadline = time.monotonic() + END_SECONDS
    while "waiting for the API server" not in operator.last_words():
        assert operator.alive, operator.last_words()
        assert time.monotonic() < deadline, operator.last_words()
        time.sleep(0.05)
    yield operator
    operator.stop()


def test_it_has_no_environment_but_the_one_it_is_given_and_adds_to_its_log(
    starter: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL, "http://127.0.0.1:9")
    log = tmp_path / "log"
    log.write_text("of the last one\n")
    given = {name: text for name, text in os.environ.items() if name != URL}
    child = starter({**given, "CHAFFINCH_LEASE_DURATION": "soon"}, log)
    assert child.wait(END_SECONDS) == OperatorExit.USAGE
    assert child.exit_code == OperatorExit.USAGE
    first, second = log.read_text().splitlines()
    assert first == "of the last one"
    assert f"set {URL}" in second
    assert "CHAFFINCH_LEASE_DURATION" in second


def test_one_that_is_killed_tells_so(waiting: OperatorProcess) -> None:
    waiting.stop()
    assert (waiting.alive, waiting.exit_code) == (False, -signal.SIGKILL)
