from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from localcluster import ExistingCluster
from localcluster.kubectl import Kubectl, KubectlError, NotInTimeError, eventually
from stage import kubectl as stage

FAKE = f"""#!{sys.executable}
import json, sys
print(json.dumps([sys.argv[1:], sys.stdin.read()]))
"""
"""A kubectl that prints its arguments and its input."""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kubectl"
    path.write_text(FAKE)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("LOCALCLUSTER_KIND", "existing")
    return path


def prints(program: Path, text: str, code: int = 0) -> None:
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\necho ' no such thing ' >&2\nexit {code}\n")


def test_words_and_input_reach_the_kubectl_of_the_clusters_environment(program: Path) -> None:
    assert program.exists()
    for kubectl in (Kubectl(ExistingCluster(os.environ), "llm"), stage.Kubectl("llm")):
        assert json.loads(kubectl("create", "-f", "-", stdin="x")) == [
            ["--namespace=llm", "create", "-f", "-"],
            "x",
        ]


def test_an_error_is_what_kubectl_says(program: Path) -> None:
    prints(program, "", code=1)
    for kubectl in (Kubectl(ExistingCluster(os.environ), "llm"), stage.Kubectl("llm")):
        with pytest.raises(KubectlError, match=r"^no such thing$"):
            kubectl("get", "pods")


def test_what_is_missing_is_none(program: Path) -> None:
    program.write_text("#!/bin/sh\n")
    assert stage.Kubectl("llm").get("pod", "chat-0") is None


def test_an_object_that_is_late_is_shown_by_its_conditions(program: Path) -> None:
    condition = {"type": "Ready", "status": "False", "reason": "Deploying", "message": "1 of 4 pods"}
    prints(program, json.dumps({"status": {"conditions": [condition]}}))
    with pytest.raises(NotInTimeError) as caught:
        stage.Kubectl("llm").until("iro", "chat", lambda _: False, seconds=-1, what="Ready")
    assert str(caught.value) == (
        "not within -1s: iro/chat is Ready (last seen: Ready=False/Deploying: 1 of 4 pods)"
    )


def test_a_result_is_asked_for_until_it_holds() -> None:
    results = iter([None, 0, 2, 3])
    assert eventually(lambda: next(results), 5, "a result", every=0) == 2
    assert eventually(lambda: next(results), 5, "a result", every=0, holds=lambda found: found > 2) == 3


def test_a_result_that_is_late_is_shown() -> None:
    with pytest.raises(NotInTimeError, match=r"^not within 0s: a result \(last seen: 0\)$"):
        eventually(lambda: 0, 0, "a result", every=0)
