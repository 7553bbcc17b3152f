"""What the scale measurement deploys, and when it takes a rollout for being where it should be."""

from __future__ import annotations

from typing import Any

import pytest

from bench.scale import argo_rollouts, our_operator
from bench.scale.fleet import Fleet, Kind
from localcluster import kwok
from localcluster.progress import Progress

ARGO = argo_rollouts.kind(pause_seconds=300)
OURS = our_operator.kind(our_operator.Pace(canary=300))


class RecordingApi:
    """Keeps what is applied, by its path, in order."""

    def __init__(self) -> None:
        self.applied: list[tuple[str, dict[str, Any]]] = []

    def apply(self, path: str, document: dict[str, Any]) -> None:
        """Keep it."""
        self.applied.append((path, document))

    def get(self, path: str) -> dict[str, Any]:
        """Return what was applied below a path, as healthy as it can be."""
        status = {"observedGeneration": "1", "phase": "Healthy"}
        below = [document for at, document in self.applied if at.startswith(f"{path}/")]
        return {"items": [{**each, "metadata": {"generation": 1}, "status": status} for each in below]}


def _fleet(kind: Kind, size: int) -> tuple[RecordingApi, Fleet]:
    api = RecordingApi()
    return api, Fleet(api, kind, size, Progress())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        (OURS, "/apis/chaffinch.dev/v1alpha1/namespaces/scale-01/inferencerollouts/chat-0050"),
        (ARGO, "/apis/argoproj.io/v1alpha1/namespaces/argo-01/rollouts/chat-0050"),
    ],
    ids=["ours", "argo"],
)
def test_a_fleet_lies_in_namespaces_of_fifty_whose_pods_are_pretended(kind: Kind, place: str) -> None:
    api, fleet = _fleet(kind, 51)
    fleet.create()
    namespaces = [document for path, document in api.applied if path.startswith("/api/v1/namespaces/")]
    assert [document["metadata"] for document in namespaces] == [
        {"name": f"{kind.prefix}-00", "annotations": kwok.NAMESPACE_ANNOTATIONS},
        {"name": f"{kind.prefix}-01", "annotations": kwok.NAMESPACE_ANNOTATIONS},
    ]
    assert len(api.applied) == 2 + 51
    assert dict(api.applied)[place] == kind.manifest(f"{kind.prefix}-01", "chat-0050", 1)


def test_rollouts_of_others_are_not_counted() -> None:
    api, fleet = _fleet(ARGO, 51)
    api.apply("/apis/argoproj.io/v1alpha1/namespaces/another/rollouts/chat", {})
    fleet.create()
    assert len(list(fleet.rollouts())) == 51
    fleet.until_healthy()


def test_new_versions_are_spread_over_the_namespaces() -> None:
    api, fleet = _fleet(ARGO, 100)
    fleet.give_new_version(4)
    assert sorted(document["metadata"]["name"] for _, document in api.applied) == [
        "chat-0000",
        "chat-0025",
        "chat-0050",
        "chat-0075",
    ]
    assert {_args(document) for _, document in api.applied} == {"--seed=2"}


def _args(rollout: dict[str, Any]) -> str:
    (container,) = rollout["spec"]["template"]["spec"]["containers"]
    return " ".join(container["args"])


def test_both_fleets_have_as_many_pods_of_the_same_image_on_as_many_gpus() -> None:
    ours, argo = (kind.manifest("n", "chat", 1)["spec"] for kind in (OURS, ARGO))
    (container,) = argo["template"]["spec"]["containers"]
    assert (argo["replicas"], container["image"]) == (ours["replicas"], ours["engine"]["image"])
    assert container["resources"] == ours["pod"]["resources"]


def _argo(generation: int = 2, **status: object) -> dict[str, Any]:
    return {"metadata": {"generation": generation}, "status": status}


@pytest.mark.parametrize(
    ("rollout", "healthy"),
    [
        (_argo(observedGeneration="2", phase="Healthy"), True),
        (_argo(observedGeneration="1", phase="Healthy"), False),
        (_argo(observedGeneration="2", phase="Progressing"), False),
        ({"metadata": {"generation": 1}}, False),
    ],
    ids=["healthy", "of the last version", "not yet", "never looked at"],
)
def test_a_peers_rollout_is_healthy_when_it_says_so_of_its_present_spec(
    rollout: dict[str, Any], healthy: bool
) -> None:
    assert argo_rollouts.is_healthy(rollout) is healthy


@pytest.mark.parametrize(
    ("rollout", "in_canary"),
    [
        (_argo(phase="Paused", currentStepIndex=1, updatedReplicas=1), True),
        (_argo(phase="Paused", currentStepIndex=1, updatedReplicas=0), False),
        (_argo(phase="Progressing", currentStepIndex=1, updatedReplicas=1), False),
        (_argo(phase="Paused", currentStepIndex=0, updatedReplicas=1), False),
        ({"metadata": {"generation": 1}}, False),
    ],
    ids=["in the pause", "without a new pod", "progressing", "before the pause", "never looked at"],
)
def test_a_peers_rollout_is_in_canary_in_its_pause_with_a_new_pod(
    rollout: dict[str, Any], in_canary: bool
) -> None:
    assert argo_rollouts.is_in_canary(rollout) is in_canary
