"""What starts a rollout and what does not; what children take over from their rollout (cases C03, C34)."""

from __future__ import annotations

import json
from typing import Any

from e2e.story import KIND, Story
from e2e.test_promotion import OBJECTIVES, STEPS
from stage.kubectl import Object
from stage.service import Service

FOREIGN = {
    "labels": {
        "app.kubernetes.io/instance": "chat-app",
        "argocd.argoproj.io/instance": "chat-app",
        "team": "nlp",
    },
    "annotations": {
        "argocd.argoproj.io/tracking-id": "chat-app:chaffinch.dev/InferenceRollout:llm/chat",
        "argocd.argoproj.io/sync-wave": "3",
    },
}
CHILDREN = (
    "deployments,replicasets,pods,services,configmaps,controllerrevisions,poddisruptionbudgets,"
    "serviceaccounts,roles,rolebindings"
)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def test_children_take_nothing_over_and_edits_without_meaning_change_nothing(story: Story) -> None:
    service = Service(story.namespace, steps=STEPS, objectives=OBJECTIVES, metadata=FOREIGN)
    before = story.given_stable(service)
    children = [child for child in story.kubectl.list(CHILDREN) if belongs(child, service)]
    assert len({child["kind"] for child in children}) == len(CHILDREN.split(","))
    assert [name(child) for child in children if takes_over(child)] == []
    assert [name(child) for child in children if not has_owner(child)] == []

    pods = {pod["metadata"]["uid"] for pod in story.engine_pods(stable(before))}
    edits: tuple[dict[str, Any], ...] = (
        {"metadata": {"labels": {"team": "search"}}},
        {"spec": {"pod": {"resources": {"limits": {"nvidia.com/gpu": 1}}}}},
        {"spec": {"pod": {"tolerations": []}}},
        {"spec": {"objectives": [dict(OBJECTIVES[0], max="900ms"), OBJECTIVES[1]]}},
    )
    for edit in edits:
        edited = when_edited(story, service, edit)
        assert edited["status"]["attempts"] == 1
        assert stable(edited) == stable(before)
        assert {pod["metadata"]["uid"] for pod in story.engine_pods(stable(before))} == pods


def when_edited(story: Story, service: Service, edit: dict[str, Any]) -> Object:
    """Patch the rollout and wait until the operator has looked at that generation."""
    story.kubectl("patch", KIND, service.name, "--type=merge", f"--patch={json.dumps(edit)}")
    return story.kubectl.until(
        KIND, service.name,
        lambda found: found["status"]["observedGeneration"] == found["metadata"]["generation"],
        seconds=60, what="looked at",
    )  # fmt: skip


def belongs(child: Object, service: Service) -> bool:
    """Say whether an object was made for a rollout."""
    metadata = child["metadata"]
    return bool(metadata["name"].startswith(service.name))


def takes_over(child: Object) -> bool:
    """Say whether an object carries a label or annotation that its rollout was given by others."""
    texts = [json.dumps(child["metadata"]), json.dumps(child.get("spec", {}).get("template", {}))]
    return any("argocd" in text or "chat-app" in text or LAST_APPLIED in text for text in texts)


def has_owner(child: Object) -> bool:
    """Say whether garbage collection takes the object with its rollout."""
    return any(owner.get("controller") for owner in child["metadata"].get("ownerReferences", ()))


def stable(rollout: Object) -> str:
    """Return the stable revision."""
    revision: str = rollout["status"]["stable"]["revision"]
    return revision


def name(child: Object) -> str:
    """Return kind and name of an object."""
    return f"{child['kind']}/{child['metadata']['name']}"
