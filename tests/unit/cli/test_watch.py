"""`get --watch`, of a rollout that changes between two looks: on a terminal, in a pipe, and as JSON."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from chaffinch.cli import main
from chaffinch.cli.exits import Exit
from unit.cli.conftest import Objects
from unit.cli.rollouts import CANDIDATE, condition, healthy, pod, rolled_back, rollout

ROLLOUTS = "inferencerollouts.chaffinch.dev"
WATCH = ["get", "chat", "--watch"]
CURSOR_UP = "\x1b[1A"
ATTEMPTED = condition("Reconciling", "True", "Stepping", "Step 4/5 canary-50: 50% on 7c9f1d2e. Do: nothing.")


class _Out(io.StringIO):
    """Standard output that remembers what it held at each flush."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal
        self.flushed: list[str] = []

    def isatty(self) -> bool:
        return self._terminal

    def flush(self) -> None:
        self.flushed.append(self.getvalue())


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.cli.rollouts.reading._WATCH_SECONDS", 0.0)


def _at_half() -> dict[str, Any]:
    body = rollout()
    body["status"]["traffic"]["weight"] |= {"desired": 5000, "percent": "50%"}
    body["status"]["conditions"][2] = ATTEMPTED
    return body


def _edited() -> dict[str, Any]:
    """What serves, with a spec that nobody has looked at yet."""
    body = healthy("chat")
    body["metadata"]["generation"] = 5
    return body


def _watched(monkeypatch: pytest.MonkeyPatch, *flags: str, terminal: bool = False) -> _Out:
    out = _Out(terminal=terminal)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    assert main([*WATCH, *flags]) == Exit.OK
    return out


def _looks(objects: Objects) -> int:
    return sum(call[:2] == ["get", ROLLOUTS] for call in objects.calls())


def _documents(text: str) -> list[dict[str, Any]]:
    decoder, found = json.JSONDecoder(), []
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document)
        assert text[end] == "\n"
        text = text[end + 1 :]
    return found


def test_in_a_pipe_each_change_is_printed_once_until_nothing_moves(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.change(ROLLOUTS, rollout(), rollout(), _at_half(), _at_half(), rolled_back(), healthy("chat"))
    text = _watched(monkeypatch).getvalue()
    titles = [line for line in text.splitlines() if line.startswith("chat (llm)")]
    assert titles == ["chat (llm)  Progressing", "chat (llm)  Progressing", "chat (llm)  Degraded"]
    assert text.index("weight 20% asked of") < text.index("weight 50% asked of") < text.index("RolledBack: ")
    assert _looks(objects) == 5, "it does not look again once a person is needed"
    assert "\x1b" not in text


def test_as_json_each_change_is_a_document_that_is_there_at_once(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.change(ROLLOUTS, rollout(), rollout(), _at_half(), rolled_back())
    out = _watched(monkeypatch, "-o", "json")
    documents = _documents(out.getvalue())
    assert [(each["phase"], each["atRest"]) for each in documents] == [
        ("Progressing", False),
        ("Progressing", False),
        ("Degraded", True),
    ]
    assert [each["revisions"][-1]["percent"] for each in documents] == [20.0, 50.0, 100.0]
    assert _documents(out.flushed[0]) == documents[:1]


def test_a_terminal_with_json_is_not_drawn_upon(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    objects.change(ROLLOUTS, rollout(), rolled_back())
    documents = _documents(_watched(monkeypatch, "-o", "json", terminal=True).getvalue())
    assert [each["phase"] for each in documents] == ["Progressing", "Degraded"]


def test_on_a_terminal_the_tree_is_redrawn_in_its_place_and_the_last_one_stays(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.change(ROLLOUTS, rollout(), _at_half(), rolled_back())
    text = _watched(monkeypatch, terminal=True).getvalue()
    first, second, last = (text.index(f) for f in ("weight 20%", "weight 50%", "RolledBack: "))
    assert first < second < last
    assert CURSOR_UP in text[first:second]
    assert CURSOR_UP in text[second:last]
    drawn = text[text.rindex(CURSOR_UP) :]
    assert "Degraded" in drawn
    assert "weight" not in drawn
    assert _looks(objects) == 3


def test_a_pod_that_changes_is_a_change(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    objects.change(ROLLOUTS, rollout(), rollout(), rollout(), rolled_back())
    name = f"chat-{CANDIDATE}-c"
    objects.change("pods", pod(name, CANDIDATE), pod(name, CANDIDATE, ready=False, restarts=1))
    documents = _documents(_watched(monkeypatch, "-o", "json").getvalue())
    seen = [[each["ready"] for each in d["revisions"] if each["role"] == "candidate"] for d in documents]
    assert seen == [[1], [0], []]


def test_an_edit_of_the_spec_is_a_change_before_anybody_has_looked_at_it(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = rollout()
    stale["metadata"]["generation"] = 5
    objects.change(ROLLOUTS, rollout(), stale, _edited(), rolled_back())
    documents = _documents(_watched(monkeypatch, "-o", "json").getvalue())
    assert [(each["observed"], each["phase"]) for each in documents] == [
        (True, "Progressing"),
        (False, "Progressing"),
        (False, "Progressing"),
        (True, "Degraded"),
    ]
