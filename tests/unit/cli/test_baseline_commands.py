from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from chaffinch.api.v1alpha1.parse import parse_baseline
from chaffinch.cli import main
from chaffinch.cli.exits import Exit
from chaffinch.domain.baseline import verify
from unit.cli.conftest import Objects, probe, revision, stage

FREEZE = ["baseline", "freeze", "--probe", "freeze-me", "--name", "chat-h100", "--version", "v1"]
NAME = "chat-h100-v1"
ROOT = Path(__file__).parents[3]
CHANGED = "the content does not match the digest"


def frozen_file(folder: Path, name: str = "b.yaml", **changes: object) -> Path:
    path = folder / name
    assert main([*FREEZE, "--file", str(path)]) == 0
    body = yaml.safe_load(path.read_text())
    for key, value in changes.items():
        body["spec"]["fingerprint"][key] = value
    path.write_text(yaml.safe_dump(body))
    return path


def test_freeze_creates_the_object_in_the_named_namespace(
    succeeded: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FREEZE, "-n", "llm", "--context", "prod"]) == 0
    spec = parse_baseline(succeeded.created(NAME))
    assert verify(spec, NAME) is None
    assert capsys.readouterr().out == f"InferenceBaseline {NAME} created, {spec.digest}\n"
    assert (spec.fingerprint.engine_image, spec.fingerprint.engine_version, spec.fingerprint.gpu_count) == (
        "registry.example/engine:1",
        "0.33.0",
        2,
    )
    assert (spec.gate_stage, [s.name for s in spec.stages]) == ("c8", ["c4", "c8"])
    assert (spec.provenance.rollout, spec.provenance.revision, spec.provenance.probe) == (
        "chat",
        "58be2a01",
        "freeze-me",
    )
    assert all(call[:4] == ["--context", "prod", "--namespace", "llm"] for call in succeeded.calls())


def test_freeze_to_a_file_creates_nothing_and_freezes_the_same(succeeded: Objects, tmp_path: Path) -> None:
    path = frozen_file(tmp_path)
    assert {call[0] for call in succeeded.calls()} == {"get"}
    assert main(FREEZE) == 0
    assert yaml.safe_load(path.read_text()) == succeeded.created(NAME), (
        "frozen twice, it is the same baseline"
    )


def test_freeze_to_a_file_says_what_it_holds_and_what_comes_next(
    succeeded: Objects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert succeeded.folder.exists()
    path = tmp_path / "my b.yaml"
    assert main([*FREEZE, "--file", str(path), "-n", "llm"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"InferenceBaseline {NAME} written to {path}, {yaml.safe_load(path.read_text())['spec']['digest']}\n"
        "it holds 200 requests of stage c8, P95 TTFT 103 ms\n"
        f"next: kubectl apply -f '{path}' --namespace=llm\n"
    )


def test_freeze_to_standard_output_prints_the_manifest_and_nothing_else(
    succeeded: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert succeeded.folder.exists()
    assert main([*FREEZE, "--file", "-"]) == 0
    out, err = capsys.readouterr()
    assert (yaml.safe_load(out)["metadata"]["name"], err) == (NAME, "")


UNFREEZABLE: dict[str, tuple[dict[str, object], int, str]] = {
    "not done": ({"phase": "Running"}, 3, "LoadProbe freeze-me is Running: wait until it is Succeeded"),
    "failed": ({"phase": "Failed"}, 1, "LoadProbe freeze-me has failed"),
    "a warm-up": ({"result": {"stages": []}}, 1, "LoadProbe freeze-me only warmed pods up"),
    "nine samples": (
        {"result": {"stages": [stage("c8", 8, 9)]}},
        3,
        "stage c8: 9 requests say nothing of a P95; use a profile with 150 or more",
    ),
    "a gate stage that stopped": (
        {"result": {"stages": [stage("c8", 8, 200) | {"complete": False}]}},
        1,
        "did not complete its requests; run the probe again",
    ),
    "a status of somebody else": ({"result": {"stages": "many"}}, 1, "is not the operator's"),
}


@pytest.mark.parametrize(("status", "code", "want"), UNFREEZABLE.values(), ids=UNFREEZABLE)
def test_freeze_says_why_it_cannot(
    succeeded: Objects, capsys: pytest.CaptureFixture[str], status: dict[str, object], code: int, want: str
) -> None:
    succeeded.put("loadprobes.chaffinch.dev", probe(**status))
    assert main(FREEZE) == code
    assert want in capsys.readouterr().err


def test_freeze_does_not_take_a_revision_that_somebody_forged(
    succeeded: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = revision()
    del forged["data"]["template"]
    succeeded.put("controllerrevisions.apps", forged)
    assert main(FREEZE) == Exit.FAILED
    assert capsys.readouterr().err == (
        "error: LoadProbe freeze-me: the ControllerRevision is not one that Chaffinch wrote; delete it\n"
    )


def test_freeze_says_which_probes_there_are_when_the_named_one_is_not(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(FREEZE) == Exit.NOT_FOUND
    assert capsys.readouterr().err == (
        "error: loadprobes 'freeze-me' not found; there is none in this namespace; check --namespace\n"
    )
    other = probe()
    other["metadata"]["name"] = "freeze-mee"
    objects.put("loadprobes.chaffinch.dev", other)
    assert main(FREEZE) == Exit.NOT_FOUND
    assert capsys.readouterr().err == "error: loadprobes 'freeze-me' not found; there is freeze-mee\n"


def test_a_missing_kubectl_is_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBECTL", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(FREEZE) == 1
    assert "kubectl is not in PATH; install it, or set KUBECTL" in capsys.readouterr().err


@pytest.mark.parametrize(("flag", "value"), [("--name", "Chat"), ("--version", "v1-rc")])
def test_a_name_that_no_object_could_have_is_wrong_usage(
    objects: Objects, capsys: pytest.CaptureFixture[str], flag: str, value: str
) -> None:
    arguments = list(FREEZE)
    arguments[arguments.index(flag) + 1] = value
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: {flag}: use lower case letters, digits and")
    assert not (objects.folder / "calls").exists(), "nothing was asked of the cluster"


def test_verify_tells_a_tampered_baseline_from_a_whole_one(
    succeeded: Objects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert succeeded.folder.exists()
    good, bad = frozen_file(tmp_path, "good.yaml"), frozen_file(tmp_path, "bad.yaml", gpuCount=8)
    capsys.readouterr()
    assert main(["baseline", "verify", str(good)]) == 0
    assert main(["baseline", "verify", str(good), str(bad)]) == 1
    assert capsys.readouterr().out == (
        f"{good}: {NAME}: ok\n{good}: {NAME}: ok\n{bad}: {NAME}: the content does not match the digest\n"
    )


def test_the_sample_in_the_repository_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    sample = Path(__file__).parents[3] / "baselines" / "chat-v1.yaml"
    assert main(["baseline", "verify", str(sample)]) == 0
    assert capsys.readouterr().out == f"{sample}: chat-v1: ok\n"


def test_verify_of_a_file_with_no_baseline_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("kind: ConfigMap\n")
    assert main(["baseline", "verify", str(path)]) == 1
    assert "there is no InferenceBaseline in it" in capsys.readouterr().err


@pytest.mark.parametrize("from_cluster", [False, True])
def test_show_prints_what_an_engineer_asks_for(
    succeeded: Objects, tmp_path: Path, capsys: pytest.CaptureFixture[str], from_cluster: bool
) -> None:
    path = frozen_file(tmp_path)
    body: dict[str, Any] = yaml.safe_load(path.read_text())
    succeeded.put("inferencebaselines.chaffinch.dev", body)
    capsys.readouterr()
    assert main(["baseline", "show", NAME if from_cluster else str(path)]) == 0
    shown = capsys.readouterr().out
    assert f"{body['spec']['digest']} (verified)" in shown
    assert "2 x GPU per pod" in shown
    gate = next(line for line in shown.splitlines() if line.startswith("c8*"))
    assert re.split(r" {2,}", gate) == [
        *("c8*", "8", "200", "0"),
        *("103 ms", "103 ms", "103 ms"),
        *("445 ms", "445 ms"),
        *("9.0 ms", "9.0 ms"),
    ]


BASELINES = "inferencebaselines.chaffinch.dev"


def test_list_shows_each_baseline_in_a_line_and_checks_it(
    succeeded: Objects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    altered = yaml.safe_load(frozen_file(tmp_path, gpuProduct="H100").read_text())
    unread = {"metadata": {"name": "mystery-v1"}, "spec": {"name": "mystery"}}
    whole = yaml.safe_load((ROOT / "baselines" / "chat-v1.yaml").read_text())
    succeeded.put(BASELINES, whole)
    capsys.readouterr()
    assert main(["baseline", "list", "-n", "llm"]) == Exit.OK
    assert _cells(capsys.readouterr().out) == [
        ["name", "version", "model", "engine", "gpus", "frozen", "check"],
        ["chat-v1", "v1", "chat", "0.33.0", "1 x GPU", whole["spec"]["provenance"]["createdAt"], "ok"],
    ]
    for body in (altered, unread):
        succeeded.put(BASELINES, body)
    assert main(["baseline", "list", "-n", "llm"]) == Exit.FAILED
    _, first, second, third = _cells(capsys.readouterr().out)
    frozen = "2026-03-01T12:00:00Z"
    assert first == [NAME, "v1", "chat", "0.33.0", "2 x H100", frozen, CHANGED]
    assert second[0] == "chat-v1"
    assert third[0] == "mystery-v1"
    assert third[-1].startswith("spec.version: ")
    assert succeeded.calls()[-1][:4] == ["--namespace", "llm", "get", BASELINES]


def test_list_as_json_has_no_figures_of_what_cannot_be_read(
    succeeded: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    succeeded.put(BASELINES, {"metadata": {"name": "mystery-v1"}, "spec": {"name": "mystery"}})
    assert main(["baseline", "list", "-o", "json"]) == Exit.FAILED
    (line,) = json.loads(capsys.readouterr().out)
    assert (line.pop("object"), line.pop("ok")) == ("mystery-v1", False)
    assert line.pop("problem").startswith("spec.version: ")
    assert set(line.values()) == {None}


def test_list_of_a_namespace_without_baselines_says_so_and_is_an_empty_list_as_json(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["baseline", "list"]) == Exit.OK
    assert capsys.readouterr() == ("", "there are no baselines here\n")
    assert main(["baseline", "list", "-o", "json"]) == Exit.OK
    assert capsys.readouterr() == ("[]\n", "")
    assert len(objects.calls()) == 2


def _cells(table: str) -> list[list[str]]:
    return [re.split(r" {2,}", line) for line in table.splitlines()]


def test_diff_tells_what_a_rollout_may_change_from_what_forbids_a_comparison(
    succeeded: Objects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert succeeded.folder.exists()
    old = frozen_file(tmp_path, "old.yaml")
    newer = frozen_file(tmp_path, "newer.yaml", engineVersion="0.34.0")
    other = frozen_file(tmp_path, "other.yaml", gpuProduct="A100")
    capsys.readouterr()
    assert main(["baseline", "diff", str(old), str(newer)]) == 0
    assert capsys.readouterr().out == "engineVersion differs, as it may between versions\ncomparable\n"
    assert main(["baseline", "diff", str(old), str(other)]) == 4
    assert capsys.readouterr().out == "gpuProduct differs: a comparison would mean nothing\n"
