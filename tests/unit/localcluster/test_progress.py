"""A person who waits is never left without a word for long."""

import re
import time

import pytest

from localcluster.progress import Progress


def _said(captured: str) -> list[str]:
    return [re.sub(r"^\[ *[\d.]+s\] |(?<=done in )[\d.]+", "", line) for line in captured.splitlines()]


def test_a_step_says_that_it_begins_and_ends_and_nothing_else_if_it_is_quick(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Progress().step("Building", usually="5 s"):
        pass
    assert _said(capsys.readouterr().err) == ["Building ... (usually 5 s)", "Building: done in s"]


def test_a_silent_step_says_that_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    seen = ""
    deadline = time.monotonic() + 10
    with Progress(silence=0.01).step("Building"):
        while "still at it" not in seen and time.monotonic() < deadline:
            time.sleep(0.005)
            seen += capsys.readouterr().err
    assert "  still at it" in _said(seen)


def test_a_step_that_fails_is_not_said_to_go_on_or_to_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"), Progress(silence=30).step("Building"):
        raise ValueError("no")
    assert _said(capsys.readouterr().err) == ["Building ..."]
