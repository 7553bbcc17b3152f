"""People command a rollout: each command is answered, carried out once, and told in the record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from e2e.story import KIND, Story, says
from localcluster.kubectl import eventually
from stage.install import RELEASE
from stage.kubectl import Object
from stage.service import BAKE, WARM_UP, Service

CANARY = {"name": "canary-20", "canary": {"weight": 20, "for": "5s"}}
# Nothing is compared with stable, so that 150 requests suffice.
OBJECTIVES = (
    {"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "800ms"},
    {"name": "errors", "metric": "errorRate", "max": "3%"},
)
STEPS = (WARM_UP, CANARY, {"name": "review", "approval": {}}, {**BAKE, "bake": {"for": "5s"}})
ANSWER_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Approver:
    """Somebody with the chart's role for approvers, and nothing else."""

    story: Story
    service: Service
    name: str

    def bound(self) -> Approver:
        """Give them the role in the story's namespace."""
        role = f"--clusterrole={RELEASE}-approver"
        self.story.kubectl("create", "rolebinding", self.name, role, f"--user={self.name}")
        return self

    def says(self, action: str, revision: str, **fields: str) -> tuple[str, str]:
        """Create a command, wait for its answer and return outcome and reason."""
        body = {
            "apiVersion": "chaffinch.dev/v1alpha1",
            "kind": "RolloutCommand",
            "metadata": {"generateName": f"{action.lower()}-"},
            "spec": {
                "rollout": self.service.name,
                "revision": revision,
                "action": action,
                "requestedBy": self.name,
                **fields,
            },
        }
        made = self.story.kubectl(
            "create", f"--as={self.name}", "--filename=-", "--output=json", stdin=json.dumps(body)
        )
        answered = self.story.kubectl.until(
            "rolloutcommand", json.loads(made)["metadata"]["name"],
            lambda found: "outcome" in found.get("status", {}),
            seconds=ANSWER_SECONDS, what="answered",
        )  # fmt: skip
        return answered["status"]["outcome"], answered["status"]["reason"]


def test_a_rollout_obeys_those_who_may_command_and_tells_who_they_were(story: Story) -> None:
    service = Service(story.namespace, steps=STEPS, objectives=OBJECTIVES)
    story.given_stable(service)
    alice = Approver(story, service, "alice").bound()
    bob = Approver(story, service, "bob").bound()
    with story.users(service):
        v2 = paused_resumed_approved_and_promoted(story, service, alice, bob)
        aborted_and_tried_again(story, service, alice)

    status = record(story, service, v2, 2)["status"]
    assert (status["outcome"], status["cause"]) == ("Promoted", "AsExpected")
    assert [(step["name"], step["kind"], step["weight"]) for step in status["steps"]] == [
        ("canary-20", "canary", 2_000),
        ("review", "approval", 2_000),
        ("bake", "bake", 10_000),
    ]
    assert all(step["enteredAt"] <= step["passedAt"] for step in status["steps"])
    verdicts = {each["name"]: each["verdict"] for each in status["steps"][0]["objectives"]}
    assert verdicts == {"ttft-p95": "Pass", "errors": "Pass"}
    assert [(each["by"], each["action"], each["outcome"]) for each in status["commands"]] == [
        ("alice", "Pause", "Accepted"),
        ("alice", "Approve", "Refused"),
        ("bob", "Resume", "Accepted"),
        ("bob", "Approve", "Accepted"),
    ]
    assert status["commands"][-1]["reason"] == "the answers read well"

    story.kubectl("delete", KIND, service.name, "--wait=false")
    eventually(
        lambda: story.kubectl.list("rolloutcommands"), 30, "commands go with their rollout", holds=no_more
    )


def paused_resumed_approved_and_promoted(
    story: Story, service: Service, alice: Approver, bob: Approver
) -> str:
    """Let v2 be paused at its canary step, go on, wait for its approval, and be promoted."""
    story.when_applied(service.version("--sim-seed=2"))
    at_step = story.kubectl.until(KIND, service.name, has_its_weight, seconds=120, what="at its weight")
    revision = str(at_step["status"]["candidate"]["revision"])
    assert alice.says("Pause", revision) == ("Accepted", "Done")
    assert alice.says("Approve", revision, step="review") == ("Refused", "OtherStep")
    paused = story.kubectl.until(KIND, service.name, has_had_its_time, seconds=30, what="past its time")
    assert says(paused, "Reconciling") == ("True", "Paused")
    assert paused["status"]["phase"] == "Paused"
    assert bob.says("Resume", revision) == ("Accepted", "Done")
    waiting = story.until_step(service, "review")
    assert says(waiting, "Reconciling") == ("True", "AwaitingApproval")
    answer = bob.says("Approve", revision, step="review", reason="the answers read well")
    assert answer == ("Accepted", "Done")
    rollout = story.until_attempt_ends(service, 2)
    assert says(rollout, "Promoted") == ("True", "AsExpected"), rollout["status"]["lastAttempt"]["message"]
    return revision


def aborted_and_tried_again(story: Story, service: Service, alice: Approver) -> None:
    """Let v3 be aborted, stay out by itself, and be tried again when it is told to."""
    story.when_applied(service.version("--sim-seed=3"))
    begun = story.kubectl.until(
        KIND, service.name, lambda found: has_begun(found, 3), seconds=30, what="at its third attempt"
    )
    revision = str(begun["status"]["candidate"]["revision"])
    assert alice.says("Abort", revision) == ("Accepted", "Done")
    rollout = story.until_attempt_ends(service, 3)
    assert says(rollout, "Promoted") == ("False", "Aborted")
    assert "failedRevisions" not in rollout["status"] or not rollout["status"]["failedRevisions"]
    # An answer from an idle rollout shows that it has been looked at since, and was not tried again.
    assert alice.says("Abort", revision) == ("Refused", "NothingToDo")
    assert story.rollout(service)["status"]["attempts"] == 3
    assert alice.says("Retry", revision) == ("Accepted", "Done")
    story.kubectl.until(KIND, service.name, lambda found: has_begun(found, 4), seconds=30, what="tried again")
    told = record(story, service, revision, 4)["status"]["commands"]
    assert [(each["by"], each["action"]) for each in told] == [("alice", "Retry")]


def no_more(found: Sequence[Object]) -> bool:
    """Say whether none is left."""
    return not found


def has_begun(rollout: Object, attempt: int) -> bool:
    """Say whether an attempt is under way."""
    return (rollout["status"].get("candidate") or {}).get("attempt") == attempt


def has_its_weight(rollout: Object) -> bool:
    """Say whether the routers have acknowledged the weight of the canary step."""
    return "acknowledgedAt" in ((rollout["status"].get("rollout") or {}).get("step") or {})


def has_had_its_time(rollout: Object) -> bool:
    """Say whether the canary step has lasted as long as it has to."""
    step: Mapping[str, Any] = rollout["status"]["rollout"]["step"]
    assert step["name"] == "canary-20"
    return datetime.fromisoformat(step["earliestEnd"]) < datetime.now(UTC)


def record(story: Story, service: Service, revision: str, attempt: int) -> Object:
    """Return the record of an attempt."""
    found = story.kubectl.get("rolloutrecord", f"{service.name}-{revision}-a{attempt}")
    assert found is not None
    return found
