"""What starts a rollout and what does not (case C34)."""

from __future__ import annotations

import json
from typing import Any

from e2e.story import KIND, Story
from e2e.strategies import OBJECTIVES, STEPS
from stage.kubectl import Object
from stage.service import Service


def test_edits_without_meaning_change_nothing(story: Story) -> None:
    service = Service(story.namespace, steps=STEPS, objectives=OBJECTIVES)
    before = story.given_stable(service)
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


def stable(rollout: Object) -> str:
    """Return the stable revision."""
    revision: str = rollout["status"]["stable"]["revision"]
    return revision
