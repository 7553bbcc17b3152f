"""The demo's report says what was reached, also when a scene fails."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo import __main__ as demo
from demo.scenes import Result, SceneFailedError
from demo.screen import Screen


@pytest.fixture(autouse=True)
def _handler_of_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_scene_that_fails_leaves_a_report_of_those_before_it_and_none_of_an_older_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo.json"
    out.write_text("of an older run")

    def prepare(_: Screen) -> None:
        assert not out.exists()

    def play(_: Screen, __: Path, report: demo.Report) -> None:
        report.scenes.append(Result("first", "Healthy", 12.34, "v1 serves.", 0))
        report.users = {"requests": 9, "failed": 2, "failedOnStable": 1}
        raise SceneFailedError("v2 was not promoted")

    monkeypatch.setattr(demo, "_prepare", prepare)
    monkeypatch.setattr(demo, "_play", play)
    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(out)])
    assert demo.main() == 1
    written = json.loads(out.read_text())
    assert written.pop("seconds") >= 0
    assert written == {
        "scenes": [
            {
                "name": "first",
                "outcome": "Healthy",
                "seconds": 12.3,
                "rollbackMillis": None,
                "condition": "v1 serves.",
                "samples": 0,
            }
        ],
        "users": {"requests": 9, "failed": 2, "failedOnStable": 1},
        "error": "v2 was not promoted",
    }
