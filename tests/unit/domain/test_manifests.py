"""The objects of an engine, against files that were reviewed.

A change is accepted by writing the files anew, and reviewing them:
``PYTHONPATH=operator:tests python -m unit.domain.test_manifests``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaffinch.api.v1alpha1.strategy import ProbeStep, WarmUpStep
from chaffinch.domain.manifests import engine
from chaffinch.domain.manifests.common import Manifest
from chaffinch.domain.manifests.engine_args import engine_arguments
from chaffinch.domain.manifests.load_probe import step_probe, warm_up_probe
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.plan import plan_of
from chaffinch.domain.revision import revision_of
from chaffinch.domain.state import Candidate, StepState, WarmPod, WarmUp
from unit.domain.revisions import edited
from unit.domain.states import NOW

GOLDEN = Path(__file__).parents[2] / "golden"
ROLLOUT = RolloutIdentity("llm", "chat", "uid-of-chat")
FULL = edited(
    "pod",
    {
        "resources": {"limits": {"nvidia.com/gpu": "4", "memory": "64Gi"}},
        "nodeSelector": {"gpu": "a100"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "priorityClassName": "serving",
        "imagePullSecrets": [{"name": "registry"}],
        "shmSize": "8Gi",
        "startupSeconds": 62,
    },
)
REVISION = revision_of(FULL)
FROZEN = engine.frozen_revision("chat", REVISION, FULL, 3)
CANDIDATE = Candidate(REVISION, 3, NOW, None, plan_of(FULL), warmed=(WarmPod("c1", 0),))

MANIFESTS: dict[str, Manifest] = {
    "engine-controller-revision": engine.controller_revision(ROLLOUT, REVISION, FROZEN),
    "engine-deployment": engine.deployment(ROLLOUT, REVISION, FROZEN, 4),
    "engine-service": engine.service(ROLLOUT, REVISION),
    "engine-disruption-budget": engine.disruption_budget(ROLLOUT, REVISION),
    "engine-warm-up": warm_up_probe(
        ROLLOUT, CANDIDATE, WarmUpStep("warm-up", 100, 4), WarmUp(2, (WarmPod("c2", 0), WarmPod("c3", 1)))
    ),
    "engine-step-probe": step_probe(
        ROLLOUT, CANDIDATE, ProbeStep("probe", "standard/v1"), StepState(1, NOW), ("c1",)
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_are_as_they_were_reviewed(name: str) -> None:
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert MANIFESTS[name] == golden


def keys_of(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for each in value.values() for key in keys_of(each)}
    if isinstance(value, list):
        return {key for each in value for key in keys_of(each)}
    return set()


@pytest.mark.parametrize("name", MANIFESTS)
def test_no_child_carries_a_label_or_annotation_of_the_rollout(name: str) -> None:
    keys = keys_of(MANIFESTS[name])
    assert "annotations" not in keys
    assert not {key for key in keys if key.startswith(("argocd.", "app.kubernetes.io/instance"))}


@pytest.mark.parametrize("name", MANIFESTS)
def test_every_child_is_owned_by_the_rollout(name: str) -> None:
    owner = MANIFESTS[name]["metadata"]["ownerReferences"]
    assert [(each["uid"], each["controller"]) for each in owner] == [("uid-of-chat", True)]


def test_nothing_in_a_pod_says_who_is_stable() -> None:
    template = MANIFESTS["engine-deployment"]["spec"]["template"]
    assert set(template["metadata"]["labels"].values()) == {"chaffinch", "engine", "chat", REVISION}


def test_a_deployment_is_made_from_the_frozen_template_and_not_from_the_newest_builder() -> None:
    template = {"metadata": {}, "spec": {"containers": [{"name": "engine", "image": "as-it-was"}]}}
    old = engine.frozen_revision("chat", REVISION, FULL, 1)
    kept = type(old)(old.number, old.hash_version, template, old.spec, old.startup_seconds)
    assert engine.deployment(ROLLOUT, REVISION, kept, 1)["spec"]["template"] is template


@pytest.mark.parametrize(
    ("args", "want"),
    [
        ({"tensorParallelSize": 4}, ["--tensor-parallel-size", "4"]),
        ({"tensorParallelSize": 4, "enforceEager": True}, ["--enforce-eager", "--tensor-parallel-size", "4"]),
        (
            {"tensorParallelSize": 4, "enablePrefixCaching": False},
            ["--no-enable-prefix-caching", "--tensor-parallel-size", "4"],
        ),
        (
            {"tensorParallelSize": 4, "gpuMemoryUtilization": "0.90", "dtype": "bfloat16"},
            ["--dtype", "bfloat16", "--gpu-memory-utilization", "0.90", "--tensor-parallel-size", "4"],
        ),
    ],
)
def test_typed_arguments_become_flags(args: dict[str, object], want: list[str]) -> None:
    assert engine_arguments(edited("engine|args", args)) == [
        "example/chat-1b",
        "--served-model-name",
        "chat",
        "--port",
        "8000",
        *want,
        "--seed=1",
        "--swap-space=2",
    ]


if __name__ == "__main__":
    for file, manifest in MANIFESTS.items():
        (GOLDEN / f"{file}.json").write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")
