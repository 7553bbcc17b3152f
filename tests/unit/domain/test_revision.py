"""Case C34: an edit that changes nothing makes no revision, and an edit that does, does."""

from __future__ import annotations

from typing import Any

import pytest

from chaffinch.api.v1alpha1.engine import PodSpec, ResourceSpec
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.domain.names import is_revision
from chaffinch.domain.revision import HASH_VERSION, canonical, revision_of, written
from examples import Example, valid_examples
from unit.domain.revisions import BASE, edited

LIMITS = "pod|resources|limits"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{LIMITS}|cpu", "1"),
        (f"{LIMITS}|cpu", 1),
        (f"{LIMITS}|cpu", "1.0"),
        (f"{LIMITS}|memory", "1Gi"),
        (f"{LIMITS}|memory", "1048576Ki"),
        (f"{LIMITS}|nvidia.com/gpu", 4),
        ("pod|resources|requests|cpu", "0.5"),
        ("pod|tolerations", []),
        ("pod|imagePullSecrets", []),
        ("pod|nodeSelector", {}),
        ("engine|args", {"tensorParallelSize": 4, "maxNumSeqs": 64}),
        ("engine|env", list(reversed(BASE["engine"]["env"]))),
        (LIMITS, dict(reversed(BASE["pod"]["resources"]["limits"].items()))),
        ("replicas", 7),
        ("objectives", [{"name": "e2e", "metric": "e2e", "quantile": "p95", "max": "2s"}]),
        ("strategy", {"progressDeadline": "20m"}),
        ("baseline", {"name": "chat", "version": "v1"}),
        ("traffic", {"router": "Envoy"}),
    ],
)
def test_an_edit_that_means_the_same_makes_no_revision(path: str, value: object) -> None:
    assert revision_of(edited(path, value)) == revision_of(edited())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("engine|image", "registry.example/engine@sha256:" + "2" * 64),
        ("engine|args", {"maxNumSeqs": 65, "tensorParallelSize": 4}),
        ("engine|args", {"maxNumSeqs": 64, "tensorParallelSize": 4, "enforceEager": False}),
        ("engine|extraArgs", ["--swap-space=2", "--seed=1"]),
        ("engine|extraArgs", ["--seed=2", "--swap-space=2"]),
        ("engine|env", [{"name": "HF_HOME", "value": "/models"}, {"name": "LEVEL", "value": "debug"}]),
        ("engine|env", [{"name": "HF_HOME", "value": "/models"}]),
        ("model", {"name": "chat", "source": "example/chat-1b", "revision": "main"}),
        (f"{LIMITS}|cpu", "1001m"),
        (f"{LIMITS}|memory", "1G"),
        ("pod|tolerations", [{"operator": "Exists"}]),
        ("pod|nodeSelector", {"gpu": "a100"}),
        ("pod|shmSize", "1Gi"),
    ],
)
def test_an_edit_that_changes_what_runs_makes_a_revision(path: str, value: object) -> None:
    assert revision_of(edited(path, value)) != revision_of(edited())


def test_a_share_of_memory_is_a_number() -> None:
    shares = [
        edited("engine|args", {"tensorParallelSize": 4, "gpuMemoryUtilization": text})
        for text in ("0.9", "0.90")
    ]
    assert revision_of(shares[0]) == revision_of(shares[1])


def test_a_pod_that_asks_for_nothing_is_no_pod() -> None:
    bare = edited().model_copy(update={"pod": None})
    empty = edited().model_copy(update={"pod": PodSpec(resources=ResourceSpec(limits={}), tolerations=())})
    assert revision_of(bare) == revision_of(empty)
    assert set(canonical(bare)) == {"version", "model", "engine"}
    assert canonical(bare)["version"] == HASH_VERSION


def test_the_hash_of_the_first_version_never_changes() -> None:
    revision = revision_of(edited())
    assert is_revision(revision)
    assert revision == "007cfe97"


def test_amounts_are_exact_numbers_in_the_canonical_form() -> None:
    assert canonical(edited())["pod"] == {
        "resources": {
            "limits": {"cpu": "1", "memory": "1073741824", "nvidia.com/gpu": "4"},
            "requests": {"cpu": "1/2"},
        }
    }


ROLLOUTS = [example for example in valid_examples() if example.body["kind"] == "InferenceRollout"]


def _again(form: dict[str, Any]) -> InferenceRolloutSpec:
    """Read what is written for a canonical form, with the rest of some spec."""
    rest = {"replicas": BASE["replicas"], "objectives": BASE["objectives"]}
    return InferenceRolloutSpec.model_validate({**rest, **written(form)})


@pytest.mark.parametrize("example", ROLLOUTS, ids=str)
def test_a_canonical_form_can_be_written_as_a_spec_that_means_the_same(example: Example) -> None:
    form = canonical(parse_rollout(example.body))
    assert canonical(_again(form)) == form


@pytest.mark.parametrize("amount", ["500m", "0.5m", "1.125", "0.125Ki", "16Gi", "0.001"])
def test_an_amount_can_be_written_from_its_exact_form(amount: str) -> None:
    form = canonical(edited("pod|resources", {"limits": {"nvidia.com/gpu": 4, "cpu": amount}}))
    assert canonical(_again(form)) == form
