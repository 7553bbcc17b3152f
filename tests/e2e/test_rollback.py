"""A version that harms users is rolled back by the evidence; one that cannot run never sees users."""

from __future__ import annotations

from e2e.story import Story
from e2e.strategies import OBJECTIVES, STEPS
from stage.kubectl import Object, condition, says
from stage.service import Service


def test_a_version_with_slow_first_tokens_is_rolled_back_by_latency(story: Story) -> None:
    service = Service(story.namespace, steps=STEPS, objectives=OBJECTIVES)
    v1 = story.given_stable(service)["status"]["stable"]["revision"]

    with story.users(service):
        story.when_applied(service.version("--sim-latency-factor=2"))
        rollout = story.until_attempt_ends(service, 2)

    assert_rolled_back(rollout, v1, judged="ttft p95")


def test_a_version_that_cuts_streams_is_rolled_back_by_its_errors(story: Story) -> None:
    service = Service(story.namespace, steps=STEPS, objectives=OBJECTIVES)
    v1 = story.given_stable(service)["status"]["stable"]["revision"]

    with story.users(service) as users:
        story.when_applied(service.version("--sim-error-share=cut=0.2"))
        rollout = story.until_attempt_ends(service, 2)
        bad = rollout["status"]["lastAttempt"]["revision"]
        seen = users.summary

    assert_rolled_back(rollout, v1, judged="errorRate")
    assert seen["revisions"][v1]["failed"] == 0
    assert seen["revisions"][bad]["failed"] == seen["failed"] > 0


def test_a_version_that_crashes_at_start_never_gets_traffic(story: Story) -> None:
    service = Service(story.namespace, steps=STEPS, objectives=OBJECTIVES, progress_deadline="5m")
    v1 = story.given_stable(service)["status"]["stable"]["revision"]
    weights: set[int] = set()

    def note_weight(rollout: Object) -> None:
        weights.add(((rollout["status"].get("traffic") or {}).get("weight") or {}).get("desired", 0))

    story.when_applied(service.version("--sim-crash-at-start"))
    rollout = story.until_attempt_ends(service, 2, meanwhile=note_weight)

    assert says(rollout, "Promoted") == ("False", "CrashLoop")
    assert rollout["status"]["stable"]["revision"] == v1
    assert weights == {0}
    assert "exit code 1" in condition(rollout, "Promoted")["message"]


def assert_rolled_back(rollout: Object, stable: str, *, judged: str) -> None:
    """Assert what an SRE reads after a rollback: who serves, why, and that a person is needed."""
    bad = rollout["status"]["lastAttempt"]["revision"]
    assert rollout["status"]["stable"]["revision"] == stable
    assert says(rollout, "Available") == ("True", "StableServing")
    assert says(rollout, "Ready") == ("False", "RolledBack")
    assert says(rollout, "Stalled") == ("True", "RolledBack")
    assert says(rollout, "Promoted") == ("False", "ObjectiveFailed")
    message = condition(rollout, "Promoted")["message"]
    assert judged in message
    assert bad in message
    assert bad in rollout["status"]["failedRevisions"]
