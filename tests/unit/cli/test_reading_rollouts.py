"""What `chaffinch get`, `list`, `explain`, `history` and `report` print."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from chaffinch.cli import main
from chaffinch.cli.exits import Exit
from unit.cli.conftest import Objects
from unit.cli.rollouts import CANDIDATE, OBJECTIVES, PODS, condition, healthy, record, rolled_back, rollout

GOLDEN = Path(__file__).with_name("golden")
ROLLOUTS, RECORDS = "inferencerollouts.chaffinch.dev", "rolloutrecords.chaffinch.dev"


@pytest.fixture
def cluster(objects: Objects) -> Objects:
    objects.put(ROLLOUTS, rollout())
    for each in PODS:
        objects.put("pods", each)
    objects.put(RECORDS, record())
    return objects


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("get", ["get", "chat"]),
        ("explain", ["explain", "chat"]),
        ("history", ["history", "chat"]),
        ("report.txt", ["report", "chat"]),
        ("report.md", ["report", "chat", "--output=markdown"]),
        ("report.html", ["report", "chat", "-o", "html"]),
    ],
)
def test_what_is_printed_is_what_was_agreed_on(
    cluster: Objects, capsys: pytest.CaptureFixture[str], name: str, words: list[str]
) -> None:
    assert main(words) == Exit.OK
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()) + "\n"
    golden = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(printed)
    assert cluster.calls()
    assert printed == golden.read_text(), "run with UPDATE_GOLDEN=1 if this is what you want"


def test_figures_of_an_attempt_that_is_over_are_said_to_be_its_own(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    body = healthy("chat")
    body["status"]["objectives"] = OBJECTIVES
    ended = {"attempt": 3, "outcome": "Promoted", "cause": "AsExpected", "revision": CANDIDATE}
    body["status"]["lastAttempt"] = {**ended, "at": "2026-03-01T14:07:31Z", "message": "every step passed"}
    objects.put(ROLLOUTS, body)
    assert main(["get", "chat"]) == Exit.OK
    assert "objectives of attempt 3 (Promoted)" in capsys.readouterr().out


def test_a_report_in_html_runs_nothing_and_loads_nothing(
    cluster: Objects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    assert main(["report", "chat", "--output=html", f"--file={page}"]) == Exit.OK
    assert capsys.readouterr().out == ""
    text = page.read_text()
    assert "&lt;script&gt;alert(1)" in text
    assert not any(word in text for word in ("<script", "src=", "href=", "http://", "https://", "url("))
    assert cluster.calls()


def test_a_report_in_json_goes_where_its_user_wants_it(
    cluster: Objects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "report.json"
    assert main(["report", "chat", "--output=json", f"--file={place}"]) == Exit.OK
    assert capsys.readouterr().out == ""
    assert json.loads(place.read_text()) == {key: record()[key] for key in ("spec", "status")}
    assert cluster.calls()


def test_json_has_the_status_and_the_pods_of_each_revision(
    cluster: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["get", "chat", "-o", "json"]) == Exit.OK
    shape = json.loads(capsys.readouterr().out)
    assert [(r["role"], r["percent"], r["ready"]) for r in shape["revisions"]] == [
        ("stable", 80.0, 2),
        ("candidate", 20.0, 1),
        ("leaving", 0.0, 0),
    ]
    assert shape["revisions"][1]["pods"] == [
        {"name": f"chat-{CANDIDATE}-c", "ready": True, "restarts": 0, "warm": True, "trouble": None}
    ]
    assert shape["revisions"][2]["pods"][0]["trouble"] == "CrashLoopBackOff"
    assert (shape["phase"], shape["atRest"], shape["status"]["attempts"]) == ("Progressing", False, 3)
    assert cluster.calls()


def test_a_decision_is_shown_with_the_command_by_which_a_person_made_it(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    body = rollout()
    decided = {"kind": "Promote", "cause": "AsExpected", "at": "2026-03-01T14:07:30Z"}
    for more, told in (
        ({"command": "chat-promote-x7k2p"}, " by RolloutCommand chat-promote-x7k2p"),
        ({}, ""),
    ):
        body["status"]["rollout"]["decision"] = decided | more
        objects.put(ROLLOUTS, body)
        assert main(["get", "chat"]) == Exit.OK
        printed = capsys.readouterr().out
        assert f"── decided Promote at 2026-03-01T14:07:30Z{told}: AsExpected\n" in printed
        assert main(["get", "chat", "-o", "json"]) == Exit.OK
        status = json.loads(capsys.readouterr().out)["status"]
        assert status["rollout"]["decision"] == decided | more
        assert [each.get("eta") for each in status["objectives"]] == ["2026-03-01T14:03:40Z", None]


def test_no_column_is_kept_for_looks_that_nobody_can_foresee(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    objects.put(ROLLOUTS, rollout(objectives=OBJECTIVES[1:]))
    assert main(["get", "chat"]) == Exit.OK
    assert "next look" not in capsys.readouterr().out


def test_json_of_a_history_has_times_in_seconds_and_who_commanded(
    cluster: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.put(RECORDS, record(4, outcome=None, endedAt=None, commands=[]))
    assert main(["history", "chat", "-o", "json"]) == Exit.OK
    first, second = json.loads(capsys.readouterr().out)
    assert (first["attempt"], first["outcome"], first["seconds"]) == (3, "RolledBack", 451.0)
    assert first["commandedBy"] == ["ada@example.org"]
    assert (second["attempt"], second["outcome"], second["seconds"]) == (4, "Running", None)


def test_list_shows_each_rollout_in_a_line(cluster: Objects, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.put(ROLLOUTS, healthy())
    assert main(["list", "-A"]) == Exit.OK
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == [
        ["llm", "chat", "Progressing", "canary-20", "3/5", "20%", "58be2a01", "7c9f1d2e", "Stepping"],
        ["llm", "quiet", "Healthy", "58be2a01", "Promoted"],
    ]
    assert "--all-namespaces" in cluster.calls()[-1]


def test_a_generation_that_nobody_looked_at_is_not_healthy(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    body = healthy("chat")
    body["metadata"]["generation"] = 5
    objects.put(ROLLOUTS, body)
    assert main(["list"]) == Exit.OK
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["chat", "Progressing"]
    assert main(["explain", "chat"]) == Exit.OK
    told = capsys.readouterr().out
    assert "Nobody has looked at this generation of the spec yet." in told
    assert "Users are served (StableServing)." in told
    assert main(["get", "chat"]) == Exit.OK
    told = capsys.readouterr().out
    assert "nobody has looked at this generation yet" in told
    assert "Promoted: " not in told


def test_explain_warns_of_a_pass_that_proves_no_limit_and_of_no_other(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    no_harm = OBJECTIVES[1]
    proven = no_harm | {"name": "proven", "ruledOut": "0.60%", "message": "it is kept."}
    objects.put(ROLLOUTS, rollout(objectives=[no_harm, proven]))
    assert main(["explain", "chat", "-o", "json"]) == Exit.OK
    told = [each["text"] for each in json.loads(capsys.readouterr().out) if each["about"] == "objective"]
    assert told == [f"errors (Pass): {no_harm['message']}"]


def test_explain_says_what_a_rolled_back_revision_needs(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    objects.put(ROLLOUTS, rolled_back())
    assert main(["explain", "chat", "-o", "json"]) == Exit.OK
    told = [(each["about"], each["text"]) for each in json.loads(capsys.readouterr().out)]
    assert ("users", "Users are served (StableServing).") in told
    assert ("ObjectiveFailed", "The new revision was shown to miss an objective.") in told
    assert told[-1] == ("you can", "kubectl chaffinch retry chat -n llm: try the revision of the spec again")


def test_explain_says_what_ends_a_fight_for_the_router(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    body = healthy("chat")
    text = "Service/chat is changed by gitops again and again."
    body["status"]["conditions"] = [condition("Stalled", "True", "RouteFight", text)]
    objects.put(ROLLOUTS, body)
    assert main(["explain", "chat", "-o", "json"]) == Exit.OK
    told = [(each["about"], each["text"]) for each in json.loads(capsys.readouterr().out)]
    assert ("now", text) in told
    retry = "kubectl chaffinch retry chat -n llm"
    assert told[-2][1].endswith("Until then check where users are: `kubectl chaffinch get chat -n llm`.")
    assert told[-1] == (
        "you can", f"{retry}: put back the router's objects, nobody else writes them by now"
    )  # fmt: skip


def commands_offered(printed: str) -> list[str]:
    told = (each["text"] for each in json.loads(printed) if each["about"] == "you can")
    return [text.split()[2] for text in told]


def test_explain_offers_to_run_load_again_that_could_not_decide(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    body = rollout()
    hold = {"reason": "Underpowered", "since": "2026-03-01T14:00:00Z", "message": "too few requests came"}
    body["status"]["rollout"] |= {"hold": hold}
    body["status"]["rollout"]["step"] |= {"name": "probe", "run": 1}
    objects.put(ROLLOUTS, body)
    assert main(["explain", "chat", "-o", "json"]) == Exit.OK
    assert commands_offered(capsys.readouterr().out) == ["retry", "pause", "abort", "promote"]


def test_explain_offers_nothing_that_is_refused_to_a_first_revision(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    body = rollout()
    del body["status"]["stable"]
    objects.put(ROLLOUTS, body)
    assert main(["explain", "chat", "-o", "json"]) == Exit.OK
    assert commands_offered(capsys.readouterr().out) == []


def test_explain_names_the_step_that_waits_for_approval(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    body = rollout()
    body["status"]["conditions"][2] = condition("Reconciling", "True", "AwaitingApproval", "It waits.")
    objects.put(ROLLOUTS, body)
    assert main(["explain", "chat"]) == Exit.OK
    assert "kubectl chaffinch approve chat -n llm --step canary-20" in capsys.readouterr().out


def test_watch_ends_at_once_when_nothing_moves(objects: Objects, capsys: pytest.CaptureFixture[str]) -> None:
    objects.put(ROLLOUTS, rolled_back())
    assert main(["get", "chat", "--watch"]) == Exit.OK
    assert capsys.readouterr().out.startswith("chat (llm)  Degraded")


def test_a_report_of_an_attempt_that_is_not_kept_names_those_that_are(
    cluster: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "chat", "--attempt=9"]) == Exit.NOT_FOUND
    assert capsys.readouterr().err == "error: there is no record of attempt 9; there are 3\n"
    assert main(["history", "other"]) == Exit.NOT_FOUND
    assert cluster.calls()


@pytest.mark.parametrize(
    ("said", "code", "told"),
    [
        (
            'error: the server doesn\'t have a resource type "inferencerollouts.chaffinch.dev"',
            Exit.CLUSTER,
            "install Chaffinch's chart there",
        ),
        (
            'Error from server (Forbidden): User "ada" cannot get resource "inferencerollouts"',
            Exit.CLUSTER,
            "ada may not get inferencerollouts",
        ),
        ("The connection to the server 10.0.0.1:6443 was refused", Exit.CLUSTER, "was refused"),
        ("error: something else", Exit.FAILED, "something else"),
    ],
)
def test_trouble_with_the_cluster_is_one_line_with_its_own_exit_code(
    objects: Objects, capsys: pytest.CaptureFixture[str], said: str, code: Exit, told: str
) -> None:
    (objects.folder / "trouble").write_text(said)
    assert main(["get", "chat"]) == code
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_status_of_another_version_is_said_to_be_one(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    objects.put(ROLLOUTS, rollout(phase="Unheard"))
    assert main(["get", "chat"]) == Exit.FAILED
    assert "is this tool older than the operator?" in capsys.readouterr().err
