from __future__ import annotations

import io
from pathlib import Path

import pytest

from chaffinch.cli import main

ROLLOUT = """\
apiVersion: chaffinch.dev/v1alpha1
kind: InferenceRollout
metadata: {name: chat}
spec:
  model: {name: chat, source: example/chat-1b}
  engine: {image: registry.example/engine:1}
  replicas: 2
  pod: {resources: {limits: {nvidia.com/gpu: "1"}}}
  objectives:
  - {name: ttft, metric: ttft, quantile: p95, max: 500ms}
"""
PROFILE = Path(__file__).parents[3] / "baselines" / "profile-smoke-v1.yaml"


def write(folder: Path, text: str) -> str:
    path = folder / "f.yaml"
    path.write_text(text)
    return str(path)


def test_valid_manifests_pass_and_others_are_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, ROLLOUT + "---\nkind: ConfigMap\nmetadata: {name: x}\n")
    assert main(["validate", path, str(PROFILE)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{path}: InferenceRollout chat: ok",
        f"{path}: ConfigMap x: skipped",
        f"{PROFILE}: ProbeProfile smoke: ok",
    ]


WRONG = {
    "a misspelt field": (ROLLOUT.replace("replicas", "replica"), "spec.replica"),
    "a limit with no unit": (ROLLOUT.replace("500ms", "500"), "spec.objectives[0].max"),
    "no spec": ("kind: InferenceRollout\nmetadata: {name: chat}\n", "spec: is required"),
}


@pytest.mark.parametrize(("text", "want"), WRONG.values(), ids=WRONG)
def test_an_invalid_manifest_fails_and_names_the_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, want: str
) -> None:
    assert main(["validate", write(tmp_path, text)]) == 1
    assert f"InferenceRollout chat: {want}" in capsys.readouterr().out


UNREADABLE = {
    "not YAML": ("a: b: c\n", "f.yaml:1: not YAML"),
    "no manifest": ("- 1\n- 2\n", "document 1 is not a manifest but a list"),
    "nothing of ours": ("kind: ConfigMap\n", "there is no manifest of InferenceRollout"),
    "an empty file": ("", "there is no manifest of InferenceRollout"),
}


@pytest.mark.parametrize(("text", "want"), UNREADABLE.values(), ids=UNREADABLE)
def test_nothing_checked_is_never_a_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, want: str
) -> None:
    assert main(["validate", write(tmp_path, text)]) == 1
    assert want in capsys.readouterr().err


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "/nowhere.yaml"]) == 1
    assert capsys.readouterr().err == "error: /nowhere.yaml: cannot be read: No such file or directory\n"


def test_a_list_on_standard_input_is_unfolded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    indented = "".join(f"  {line}\n" for line in ROLLOUT.splitlines())
    monkeypatch.setattr("sys.stdin", io.StringIO("kind: List\nitems:\n-" + indented[1:]))
    assert main(["validate", "-"]) == 0
    assert capsys.readouterr().out == "-: InferenceRollout chat: ok\n"


def test_wrong_usage_exits_with_2_and_help_lists_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code in (([], 2), (["nonsense"], 2), (["--help"], 0)):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == code
    assert "3: There is not enough evidence to say." in " ".join(capsys.readouterr().out.split())
