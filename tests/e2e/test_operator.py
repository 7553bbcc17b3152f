"""The operator may die at any time: the routers go on, and the next operator takes up where it was."""

from __future__ import annotations

from e2e.story import Story
from e2e.strategies import OBJECTIVES, STEPS
from stage.install import NAMESPACE, OPERATOR_PODS, RELEASE
from stage.kubectl import Kubectl, says
from stage.service import Service, without


def test_a_rollout_survives_the_death_of_the_operator_in_mid_step(story: Story) -> None:
    service = Service(story.namespace, steps=without(STEPS, "canary-20"), objectives=OBJECTIVES)
    story.given_stable(service)

    with story.users(service) as users:
        story.when_applied(service.version("--sim-seed=2"))
        story.until_step(service, "canary-50")
        kill_the_operator()
        rollout = story.until_attempt_ends(service, 2)
        seen = users.summary

    assert says(rollout, "Promoted") == ("True", "AsExpected")
    assert rollout["status"]["attempts"] == 2
    assert seen["failed"] == 0


def kill_the_operator() -> None:
    """Kill the operator's process without a chance to clean up; its Deployment starts another."""
    operator = Kubectl(NAMESPACE)
    before = pods(operator)
    operator("delete", "pod", *before, "--grace-period=0", "--force")
    operator("rollout", "status", f"deployment/{RELEASE}", "--timeout=90s")
    assert not set(before) & set(pods(operator))


def pods(operator: Kubectl) -> list[str]:
    """Return the names of the operator's pods."""
    return [pod["metadata"]["name"] for pod in operator.list("pods", OPERATOR_PODS)]
