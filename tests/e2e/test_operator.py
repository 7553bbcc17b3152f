"""The operator may die at any time: the routers go on, and the next operator takes up where it was.

The next one may find less than the last one left: here somebody has spoiled what stable was frozen as. And it
has more to clear away than usual: more records than are kept.
"""

from __future__ import annotations

import json

from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.domain.record import KEPT_RECORDS
from e2e.story import Story
from e2e.strategies import OBJECTIVES, STEPS
from localcluster.kubectl import eventually
from stage.install import NAMESPACE, OPERATOR_PODS, RELEASE
from stage.kubectl import Kubectl, says
from stage.service import Service, without

LIST = {"apiVersion": "v1", "kind": "List"}
OF_A_REVISION = "controllerrevisions,deployments,services,poddisruptionbudgets"
GONE_SECONDS = 30


def test_a_rollout_survives_the_death_of_the_operator_in_mid_step(story: Story) -> None:
    service = Service(story.namespace, steps=without(STEPS, "canary-20"), objectives=OBJECTIVES)
    v1 = story.given_stable(service)["status"]["stable"]["revision"]
    too_many_records(story)

    with story.users(service) as users:
        story.when_applied(service.version("--sim-seed=2"))
        story.until_step(service, "canary-50")
        spoil(story, revision_name(service.name, v1))
        kill_the_operator()
        rollout = story.until_attempt_ends(service, 2)
        seen = users.summary

    assert says(rollout, "Promoted") == ("True", "AsExpected")
    assert rollout["status"]["attempts"] == 2
    assert seen["failed"] == 0
    then_nothing_is_left_of(story, revision_name(service.name, v1))
    assert len(story.kubectl.list("rolloutrecords")) == KEPT_RECORDS


def too_many_records(story: Story) -> None:
    """Add copies of the first attempt's record, so that the next one is more than are kept."""
    (first,) = story.kubectl.list("rolloutrecords")
    kept = {name: first["metadata"][name] for name in ("labels", "ownerReferences")}
    copies = [
        {**first, "metadata": {**kept, "name": f"{first['metadata']['name']}-{number}"}}
        for number in range(KEPT_RECORDS)
    ]
    story.kubectl("create", "--filename=-", stdin=json.dumps({**LIST, "items": copies}))


def spoil(story: Story, name: str) -> None:
    """Put something that nobody can read in the place of what a revision was frozen as."""
    frozen = story.kubectl.get("controllerrevision", name)
    assert frozen is not None
    kept = {key: frozen["metadata"][key] for key in ("name", "labels", "ownerReferences")}
    story.kubectl("delete", "controllerrevision", name)
    story.kubectl.apply({**frozen, "metadata": kept, "data": {}})


def then_nothing_is_left_of(story: Story, name: str) -> None:
    """A revision that cannot be scaled down goes as a whole, once its last answers have ended."""
    eventually(
        lambda: [each["metadata"]["name"] for each in story.kubectl.list(OF_A_REVISION)],
        GONE_SECONDS, f"nothing is left of {name}", 1, holds=lambda there: name not in there,
    )  # fmt: skip


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
