"""The tool's commands that act: what they ask for, and how they end."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from chaffinch.api.v1alpha1.parse import parse_command, parse_rollout
from chaffinch.cli import main
from chaffinch.cli.exits import Exit
from chaffinch.domain.revision import revision_of
from unit.cli.conftest import Objects
from unit.cli.rollouts import CANDIDATE, healthy, rolled_back, rollout

ROLLOUTS = "inferencerollouts.chaffinch.dev"


@pytest.fixture
def cluster(objects: Objects) -> Objects:
    objects.put(ROLLOUTS, rollout())
    return objects


def _answer(objects: Objects, outcome: str, message: str) -> None:
    answer = {"outcome": outcome, "reason": "Done", "message": message, "at": "2026-03-01T14:00:00Z"}
    (objects.folder / "answer").write_text(json.dumps(answer))


def _made(objects: Objects, action: str) -> dict[str, Any]:
    body = objects.created(f"chat-{action}-x7k2p")
    parse_command(body)
    assert body["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "chaffinch.dev/v1alpha1",
            "kind": "InferenceRollout",
            "name": "chat",
            "uid": "u",
            "controller": False,
            "blockOwnerDeletion": False,
        }
    ]
    spec: dict[str, Any] = body["spec"]
    return spec


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["abort"], {}),
        (["promote"], {}),
        (["approve"], {"step": "canary-20"}),
        (["approve", "--step=sign-off"], {"step": "sign-off"}),
        (["pause", "--reason=look into it"], {"reason": "look into it"}),
        (["resume"], {}),
        (["retry"], {}),
    ],
)
def test_a_command_is_about_the_candidate_and_says_who_asks(
    cluster: Objects, capsys: pytest.CaptureFixture[str], words: list[str], more: dict[str, str]
) -> None:
    _answer(cluster, "Accepted", "it is done")
    action, *flags = words
    assert main([action, "chat", *flags]) == Exit.OK
    assert _made(cluster, action) == {
        "rollout": "chat",
        "revision": CANDIDATE,
        "action": action.capitalize(),
        "requestedBy": "ada@example.org",
        **more,
    }
    assert capsys.readouterr().out == (
        f"{action} of {CANDIDATE} asked for, RolloutCommand chat-{action}-x7k2p\nAccepted: it is done\n"
    )


def test_a_refusal_exits_with_1_and_says_why(cluster: Objects, capsys: pytest.CaptureFixture[str]) -> None:
    _answer(cluster, "Refused", "the attempt's end is decided already")
    assert main(["pause", "chat"]) == Exit.FAILED
    assert capsys.readouterr().out.endswith("Refused: the attempt's end is decided already\n")


def test_without_an_answer_in_time_it_says_how_to_look_and_how_to_take_it_back(
    cluster: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pause", "chat", "--timeout=0"]) == Exit.TIMEOUT
    told = capsys.readouterr().err
    assert "kubectl get rolloutcommand chat-pause-x7k2p -n llm\n" in told
    assert "kubectl delete rolloutcommand chat-pause-x7k2p -n llm\n" in told
    assert _made(cluster, "pause")["action"] == "Pause"


def test_it_does_not_wait_when_told_not_to(cluster: Objects) -> None:
    assert main(["pause", "chat", "--no-wait"]) == Exit.OK
    assert not any("rolloutcommands.chaffinch.dev" in call for call in cluster.calls())


def test_a_retry_is_about_the_revision_of_the_spec(objects: Objects) -> None:
    body = rolled_back()
    objects.put(ROLLOUTS, body)
    _answer(objects, "Accepted", "it is tried again")
    assert main(["retry", "chat"]) == Exit.OK
    assert _made(objects, "retry")["revision"] == revision_of(parse_rollout(body))


def test_a_retry_of_an_invalid_spec_names_the_field(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    body = rolled_back()
    body["spec"]["replicas"] = 0
    objects.put(ROLLOUTS, body)
    assert main(["retry", "chat"]) == Exit.FAILED
    assert "spec.replicas" in capsys.readouterr().err


def test_with_nothing_under_way_nothing_is_asked(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    objects.put(ROLLOUTS, healthy("chat"))
    assert main(["abort", "chat"]) == Exit.FAILED
    assert capsys.readouterr().err == (
        "error: nothing is being rolled out in chat: there is nothing to abort\n"
    )
    assert {call[0] for call in objects.calls()} == {"get"}


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "code"), [("y\n", Exit.OK), ("\n", Exit.FAILED), ("no\n", Exit.FAILED)])
def test_on_a_terminal_abort_asks_first_and_not_among_the_answers(
    cluster: Objects,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    code: Exit,
) -> None:
    _answer(cluster, "Accepted", "it is done")
    monkeypatch.setattr("sys.stdin", _Terminal(typed))
    assert main(["abort", "chat", "-o", "json"]) == code
    assert any("create" in call for call in cluster.calls()) is (code is Exit.OK)
    printed = capsys.readouterr()
    assert printed.err.startswith(f"Abort {CANDIDATE} of chat in llm? [y/N] ")
    assert bool(printed.out) is (code is Exit.OK)


def test_yes_asks_nothing(cluster: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    _answer(cluster, "Accepted", "it is done")
    monkeypatch.setattr("sys.stdin", _Terminal(""))
    assert main(["abort", "chat", "--yes"]) == Exit.OK
    assert _made(cluster, "abort")["action"] == "Abort"


def test_a_command_is_bound_to_the_revision_that_its_user_names(cluster: Objects) -> None:
    _answer(cluster, "Refused", "it names another revision")
    assert main(["abort", "chat", "--revision=0a1b2c3d"]) == Exit.FAILED
    assert _made(cluster, "abort")["revision"] == "0a1b2c3d"
