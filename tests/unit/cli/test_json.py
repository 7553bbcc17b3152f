"""``--output json``: what the reference says is what is printed, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from chaffinch.api.v1alpha1.parse import parse_baseline
from chaffinch.cli import main, parser
from chaffinch.cli.baseline_views import shown_shape
from chaffinch.cli.completion import commands_of
from chaffinch.cli.exits import Exit
from chaffinch.cli.output import Shape, shape_of
from chaffinch.domain.grid import OVERFLOW
from unit.cli.conftest import Objects, probe
from unit.cli.rollouts import CANDIDATE, PODS, record, rollout

SAMPLE = Path(__file__).parents[3] / "baselines" / "chat-v1.yaml"
FREEZE = ["baseline", "freeze", "--probe=freeze-me", "--name=chat", "--version=v2"]
ACTIONS = ("abort", "promote", "approve", "pause", "resume", "retry")
COMMANDS = dict(commands_of(parser()))
WORDS = {
    "get": ["get", "chat"],
    "list": ["list"],
    "explain": ["explain", "chat"],
    "history": ["history", "chat"],
    "report": ["report", "chat"],
    **{action: [action, "chat"] for action in ACTIONS},
    "baseline freeze": FREEZE,
    "baseline show": ["baseline", "show", "chat-v1"],
    "baseline list": ["baseline", "list"],
    "baseline verify": ["baseline", "verify", str(SAMPLE)],
    "baseline diff": ["baseline", "diff", str(SAMPLE), "newer.yaml"],
    "validate": ["validate", str(SAMPLE)],
}
"""What is typed of each command; ``probe run`` is in a test of its own."""


@pytest.fixture
def cluster(succeeded: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Objects:
    """A rollout in a canary step with all that there is to ask of it, and files beside it."""
    succeeded.put("inferencerollouts.chaffinch.dev", rollout())
    succeeded.put("rolloutrecords.chaffinch.dev", record())
    succeeded.put("inferencebaselines.chaffinch.dev", baseline())
    for each in PODS:
        succeeded.put("pods", each)
    monkeypatch.chdir(tmp_path)
    newer = baseline(engineVersion="9.9.9")
    Path("newer.yaml").write_text(yaml.safe_dump(newer))
    Path("other.yaml").write_text(yaml.safe_dump(baseline(gpuProduct="A100", engineVersion="9.9.9")))
    return succeeded


def baseline(**changes: object) -> dict[str, Any]:
    """The sample of the repository; with changes it does not match its digest any more."""
    body: dict[str, Any] = yaml.safe_load(SAMPLE.read_text())
    body["spec"]["fingerprint"] |= changes
    return body


def answered(objects: Objects, outcome: str) -> None:
    answer = {"outcome": outcome, "reason": "Done", "message": "so it is", "at": "2026-03-01T14:00:00Z"}
    (objects.folder / "answer").write_text(json.dumps(answer))


def keys_of(value: object, shape: Shape, path: str = "") -> set[str]:
    """Return the keys of some JSON as the reference writes them, not looking into those that it names."""
    if path in shape.keys:
        return {path}
    if isinstance(value, list):
        below = [(f"{path}[]" if path else "", each) for each in value]
    else:
        assert isinstance(value, dict), f"{path} is not in the reference"
        below = [(f"{path}.{key}" if path else key, each) for key, each in value.items()]
    return {key for where, each in below for key in keys_of(each, shape, where)}


def test_every_command_prints_json_but_the_one_that_prints_a_script() -> None:
    with_json = {name for name, command in COMMANDS.items() if shape_of(command) is not None}
    assert with_json == {*WORDS, "probe run"}
    assert COMMANDS.keys() - with_json == {"completion"}


@pytest.mark.parametrize("name", WORDS)
def test_the_keys_are_those_of_the_reference_and_nothing_else_is_printed(
    cluster: Objects, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    answered(cluster, "Accepted")
    shape = shape_of(COMMANDS[name])
    assert shape is not None
    assert main([*WORDS[name], "--output=json"]) == Exit.OK
    printed = json.loads(capsys.readouterr().out)
    assert isinstance(printed, list) == shape.what.startswith("A list")
    assert keys_of(printed, shape) == set(shape.keys)


ENDS: dict[str, tuple[list[str], Exit]] = {
    "no such rollout": (["get", "other"], Exit.NOT_FOUND),
    "no such record": (["report", "chat", "--attempt=9"], Exit.NOT_FOUND),
    "a refusal": (["pause", "chat"], Exit.FAILED),
    "no such baseline": (["baseline", "show", "chat-v9"], Exit.NOT_FOUND),
    "a baseline that was altered": (["baseline", "verify", "newer.yaml"], Exit.FAILED),
    "baselines that do not compare": (["baseline", "diff", str(SAMPLE), "other.yaml"], Exit.MISMATCH),
    "a probe that is not done": (FREEZE, Exit.NOT_ENOUGH),
    "an altered manifest": (["validate", "newer.yaml"], Exit.FAILED),
    "no such file": (["validate", "nowhere.yaml"], Exit.FAILED),
}


@pytest.mark.parametrize(("words", "code"), ENDS.values(), ids=ENDS)
def test_the_exit_code_is_that_of_the_text_and_errors_stay_out_of_the_json(
    cluster: Objects, capsys: pytest.CaptureFixture[str], words: list[str], code: Exit
) -> None:
    answered(cluster, "Refused")
    cluster.put("loadprobes.chaffinch.dev", probe(phase="Running"))
    assert main(words) == code
    told = capsys.readouterr().err
    for made in cluster.folder.glob("created-*"):
        made.unlink()
    assert main([*words, "-o", "json"]) == code
    printed = capsys.readouterr()
    if told:
        assert (printed.out, printed.err) == ("", told)
    else:
        assert json.loads(printed.out)


@pytest.mark.parametrize(
    ("outcome", "code"), [("Accepted", Exit.OK), ("Refused", Exit.FAILED)], ids=["accepted", "refused"]
)
def test_a_command_tells_what_was_asked_and_answered(
    cluster: Objects, capsys: pytest.CaptureFixture[str], outcome: str, code: Exit
) -> None:
    answered(cluster, outcome)
    assert main(["approve", "chat", "-o", "json"]) == code
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "name": "chat-approve-x7k2p",
        "namespace": "llm",
        "rollout": "chat",
        "revision": CANDIDATE,
        "action": "Approve",
        "step": "canary-20",
        "outcome": outcome,
        "reason": "Done",
        "message": "so it is",
        "at": "2026-03-01T14:00:00Z",
    }
    assert printed.err == f"approve of {CANDIDATE} asked for, RolloutCommand chat-approve-x7k2p\n"


@pytest.mark.parametrize(
    ("flag", "code", "told"),
    [("--timeout=0", Exit.TIMEOUT, "no answer in 0 s"), ("--no-wait", Exit.OK, "asked for")],
)
def test_a_command_without_an_answer_names_what_it_made(
    cluster: Objects, capsys: pytest.CaptureFixture[str], flag: str, code: Exit, told: str
) -> None:
    assert cluster.folder.exists()
    assert main(["pause", "chat", "-o", "json", flag]) == code
    printed = capsys.readouterr()
    shape = json.loads(printed.out)
    assert (shape["name"], shape["step"]) == ("chat-pause-x7k2p", None)
    assert [shape[key] for key in ("outcome", "reason", "message", "at")] == [None] * 4
    assert told in printed.err


def test_validate_tells_of_each_manifest(cluster: Objects, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.folder.exists()
    Path("foreign.yaml").write_text("kind: ConfigMap\nmetadata: {name: x}\n")
    assert main(["validate", str(SAMPLE), "newer.yaml", "foreign.yaml", "-o", "json"]) == Exit.FAILED
    ours = {"kind": "InferenceBaseline", "name": "chat-v1"}
    altered = "the content does not match the digest"
    assert json.loads(capsys.readouterr().out) == [
        {"file": str(SAMPLE), **ours, "verdict": "ok", "problem": None},
        {"file": "newer.yaml", **ours, "verdict": "invalid", "problem": altered},
        {"file": "foreign.yaml", "kind": "ConfigMap", "name": "x", "verdict": "skipped", "problem": None},
    ]


def test_verify_tells_of_each_baseline(cluster: Objects, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.folder.exists()
    assert main(["baseline", "verify", str(SAMPLE), "newer.yaml", "-o", "json"]) == Exit.FAILED
    altered = "the content does not match the digest"
    assert json.loads(capsys.readouterr().out) == [
        {"file": str(SAMPLE), "object": "chat-v1", "ok": True, "problem": None},
        {"file": "newer.yaml", "object": "chat-v1", "ok": False, "problem": altered},
    ]


def test_diff_tells_which_differences_forbid_a_comparison(
    cluster: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.folder.exists()
    assert main(["baseline", "diff", str(SAMPLE), "other.yaml", "-o", "json"]) == Exit.MISMATCH
    assert json.loads(capsys.readouterr().out) == {
        "comparable": False,
        "differences": [
            {"field": "engineVersion", "obstacle": False},
            {"field": "gpuProduct", "obstacle": True},
        ],
    }
    assert main(["baseline", "diff", str(SAMPLE), str(SAMPLE), "-o", "json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == {"comparable": True, "differences": []}


def test_freeze_tells_where_the_baseline_is_and_on_how_much_it_rests(
    cluster: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FREEZE, "-o", "json"]) == Exit.OK
    created = json.loads(capsys.readouterr().out)
    assert created == {
        "object": "chat-v2",
        "name": "chat",
        "version": "v2",
        "digest": cluster.created("chat-v2")["spec"]["digest"],
        "file": None,
        "gateStage": "c8",
        "requests": 200,
        "ttftP95": 0.103035,
    }
    assert main([*FREEZE, "-o", "json", "--file=b.yaml"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == {**created, "file": "b.yaml"}
    assert yaml.safe_load(Path("b.yaml").read_text()) == cluster.created("chat-v2")


def test_freeze_does_not_mix_two_answers_on_standard_output(
    cluster: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FREEZE, "-o", "json", "--file=-"]) == Exit.USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "name a file, or leave one out" in printed.err
    assert not (cluster.folder / "calls").exists(), "nothing was asked of the cluster"


def test_a_latency_without_a_bound_is_said_to_have_none() -> None:
    body = baseline()
    body["spec"]["stages"][0]["sketches"] = {"ttft": "190:19", "e2e": f"190:1 {OVERFLOW}:9"}
    stage = shown_shape(parse_baseline(body), "chat-v1")["stages"][0]
    assert {key: stage[key] for key in ("ttft", "e2e", "tpot")} == {
        "ttft": {"p50": 0.103035, "p95": 0.103035, "p99": 0.103035},
        "e2e": {"p50": "unbounded", "p95": "unbounded", "p99": "unbounded"},
        "tpot": {"p50": None, "p95": None, "p99": None},
    }


@pytest.mark.parametrize(
    "words",
    [
        ["report", "chat", "--output", "report.html"],
        ["report", "chat", "--format", "html"],
        ["baseline", "freeze", "--probe=p", "--name=n", "--version=v", "--output", "b.yaml"],
    ],
    ids=" ".join,
)
def test_a_place_is_never_taken_for_a_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == Exit.USAGE
    assert list(tmp_path.iterdir()) == []
