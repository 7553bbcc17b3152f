"""A good version is promoted, with nobody noticing."""

from __future__ import annotations

from e2e.story import Story, restarts, says
from e2e.strategies import OBJECTIVES, STEPS
from stage.kubectl import Object
from stage.service import Service


def test_a_good_version_is_promoted_and_no_pod_restarts_and_no_request_fails(story: Story) -> None:
    service = Service(story.namespace, steps=STEPS, objectives=OBJECTIVES)
    first = story.given_stable(service)
    v1 = first["status"]["stable"]["revision"]
    weights: list[int] = []

    def note_weight(rollout: Object) -> None:
        weight = (rollout["status"].get("traffic") or {}).get("weight") or {}
        weights.append(weight.get("desired", 0))

    with story.users(service) as users:
        story.when_applied(service.version("--sim-seed=2"))
        rollout = story.until_attempt_ends(service, 2, meanwhile=note_weight)
        seen = users.summary

    v2 = rollout["status"]["stable"]["revision"]
    assert v2 != v1
    assert says(rollout, "Promoted") == ("True", "AsExpected")
    assert says(rollout, "Ready") == ("True", "Promoted")
    assert says(rollout, "Stalled") == ("False", "AsExpected")
    assert restarts(story.engine_pods(v2)) == 0
    assert {2_000, 5_000} <= set(weights)
    assert seen["failed"] == 0
    assert seen["requests"] > 1_000
