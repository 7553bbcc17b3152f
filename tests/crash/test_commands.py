"""People command a rollout: each command is answered, carried out once, and told in the record."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from crash.playground import NAME, Playground
from crash.rollouts import FIRST, GOOD, SLOW, STEPS, service
from localcluster.kubectl import eventually
from stage.install import RELEASE
from stage.kubectl import Kubectl, Object, says
from stage.service import Service

KIND = "inferencerollout"
WARM_UP, _, _, BAKE = STEPS
CANARY = {"name": "canary-20", "canary": {"weight": 20, "for": "5s", "require": "Proven"}}
REVIEWED = (WARM_UP, CANARY, {"name": "review", "approval": {}}, BAKE)
ANSWER_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Desk:
    """Where people sit who look after a rollout.

    Attributes:
        playground: The surroundings.
        kubectl: The administrator's, in the rollout's namespace.
    """

    playground: Playground
    kubectl: Kubectl

    def apply(self, version: int) -> None:
        """Ask for a version, to be reviewed in mid-way."""
        self.playground.apply(reviewed(self.kubectl.namespace, version))

    def until(self, holds: Callable[[Object], bool], what: str) -> Object:
        """Wait until something is so of the rollout; return it."""
        return self.kubectl.until(KIND, NAME, holds, seconds=60, what=what)

    def until_attempt_ends(self, attempt: int) -> Object:
        """Wait until an attempt is over."""
        return self.playground.until_attempt_ends(self.kubectl.namespace, attempt)

    def record(self, revision: str, attempt: int) -> Mapping[str, Any]:
        """Return what is recorded of an attempt."""
        found = self.kubectl.get("rolloutrecord", f"{NAME}-{revision}-a{attempt}")
        assert found is not None
        return dict(found["status"])


@dataclass(frozen=True, slots=True)
class Approver:
    """Somebody with the chart's role for approvers, and nothing else."""

    desk: Desk
    name: str

    def bound(self) -> Approver:
        """Give them the role in the rollout's namespace."""
        role = f"--clusterrole={RELEASE}-approver"
        self.desk.kubectl("create", "rolebinding", self.name, role, f"--user={self.name}")
        return self

    def says(self, action: str, revision: str, **fields: str) -> tuple[str, str]:
        """Create a command, wait for its answer and return outcome and reason."""
        spec = {"rollout": NAME, "revision": revision, "action": action, "requestedBy": self.name, **fields}
        body = {
            "apiVersion": "chaffinch.dev/v1alpha1",
            "kind": "RolloutCommand",
            "metadata": {"generateName": f"{action.lower()}-"},
            "spec": spec,
        }
        made = self.desk.kubectl(
            "create", f"--as={self.name}", "--filename=-", "--output=json", stdin=json.dumps(body)
        )
        answered = self.desk.kubectl.until(
            "rolloutcommand", json.loads(made)["metadata"]["name"],
            lambda found: "outcome" in found.get("status", {}),
            seconds=ANSWER_SECONDS, what="answered",
        )  # fmt: skip
        return answered["status"]["outcome"], answered["status"]["reason"]


def reviewed(namespace: str, version: int) -> Service:
    """Return a version of the service that a person has to approve."""
    return replace(service(namespace, version), steps=REVIEWED)


def test_a_rollout_obeys_those_who_may_command_and_tells_who_they_were(playground: Playground) -> None:
    with playground.attended(CHAFFINCH_LEASE_NAME="commands") as (namespace, _, operator):
        operator.start()
        playground.until_stable(reviewed(namespace, FIRST))
        desk = Desk(playground, Kubectl(namespace))
        alice, bob = Approver(desk, "alice").bound(), Approver(desk, "bob").bound()
        then_the_record_tells_all(desk, paused_resumed_approved_and_promoted(desk, alice, bob))
        aborted_and_tried_again(desk, alice)
        playground.then_no_invariant_was_broken(namespace)
        desk.kubectl("delete", KIND, NAME, "--wait=false")
        eventually(
            lambda: desk.kubectl.list("rolloutcommands"), 30, "commands go with their rollout", holds=no_more
        )


def paused_resumed_approved_and_promoted(desk: Desk, alice: Approver, bob: Approver) -> str:
    """Let v2 be paused at its canary step, go on, wait for its approval, and be promoted."""
    desk.apply(GOOD)
    revision = str(desk.until(has_its_weight, "at its weight")["status"]["candidate"]["revision"])
    assert alice.says("Pause", revision) == ("Accepted", "Done")
    assert alice.says("Approve", revision, step="review") == ("Refused", "OtherStep")
    paused = desk.until(has_had_its_time, "past its time")
    assert says(paused, "Reconciling") == ("True", "Paused")
    assert paused["status"]["phase"] == "Paused"
    assert bob.says("Resume", revision) == ("Accepted", "Done")
    waiting = desk.until(is_reviewed, "waiting for a person")
    assert says(waiting, "Reconciling") == ("True", "AwaitingApproval")
    answer = bob.says("Approve", revision, step="review", reason="the answers read well")
    assert answer == ("Accepted", "Done")
    rollout = desk.until_attempt_ends(2)
    assert says(rollout, "Promoted") == ("True", "AsExpected"), rollout["status"]["lastAttempt"]["message"]
    return revision


def then_the_record_tells_all(desk: Desk, revision: str) -> None:
    """Steps, verdicts and commands are on record, with who gave them."""
    status = desk.record(revision, 2)
    assert (status["outcome"], status["cause"]) == ("Promoted", "AsExpected")
    assert [(step["name"], step["kind"], step["weight"]) for step in status["steps"]] == [
        ("canary-20", "canary", 2_000),
        ("review", "approval", 2_000),
        ("bake", "bake", 10_000),
    ]
    assert all(step["enteredAt"] <= step["passedAt"] for step in status["steps"])
    verdicts = {each["name"]: each["verdict"] for each in status["steps"][0]["objectives"]}
    assert verdicts == {"ttft-p95": "Pass"}
    assert [(each["by"], each["action"], each["outcome"]) for each in status["commands"]] == [
        ("alice", "Pause", "Accepted"),
        ("alice", "Approve", "Refused"),
        ("bob", "Resume", "Accepted"),
        ("bob", "Approve", "Accepted"),
    ]
    assert status["commands"][-1]["reason"] == "the answers read well"


def aborted_and_tried_again(desk: Desk, alice: Approver) -> None:
    """Let v3 be aborted, stay out by itself, and be tried again when it is told to."""
    desk.apply(SLOW)
    begun = desk.until(lambda found: has_begun(found, 3), "at its third attempt")
    revision = str(begun["status"]["candidate"]["revision"])
    assert alice.says("Abort", revision) == ("Accepted", "Done")
    rollout = desk.until_attempt_ends(3)
    assert says(rollout, "Promoted") == ("False", "Aborted")
    assert not rollout["status"].get("failedRevisions")
    # Ages are told in seconds: a command made in that of the decision counts as one that asked for it.
    decided = datetime.fromisoformat(rollout["status"]["lastAttempt"]["decidedAt"])
    eventually(lambda: datetime.now(UTC) >= decided + timedelta(seconds=1), 5, "the next second", 0.1)
    # An answer from an idle rollout shows that it has been looked at since, and was not tried again.
    assert alice.says("Abort", revision) == ("Refused", "NothingToDo")
    assert desk.playground.rollout(desk.kubectl.namespace)["status"]["attempts"] == 3
    assert alice.says("Retry", revision) == ("Accepted", "Done")
    desk.until(lambda found: has_begun(found, 4), "tried again")
    commands = desk.record(revision, 4)["commands"]
    assert [(each["by"], each["action"]) for each in commands] == [("alice", "Retry")]


def no_more(found: Sequence[Object]) -> bool:
    """Say whether none is left."""
    return not found


def has_begun(rollout: Object, attempt: int) -> bool:
    """Say whether an attempt is under way."""
    return (rollout["status"].get("candidate") or {}).get("attempt") == attempt


def step_of(rollout: Object) -> Mapping[str, Any]:
    """Return the step that a rollout is at; an empty one if it is at none."""
    return dict((rollout["status"].get("rollout") or {}).get("step") or {})


def has_its_weight(rollout: Object) -> bool:
    """Say whether the routers have acknowledged the weight of the canary step."""
    return "acknowledgedAt" in step_of(rollout)


def has_had_its_time(rollout: Object) -> bool:
    """Say whether the canary step has lasted as long as it has to."""
    step = step_of(rollout)
    assert step["name"] == "canary-20"
    return datetime.fromisoformat(step["earliestEnd"]) < datetime.now(UTC)


def is_reviewed(rollout: Object) -> bool:
    """Say whether a person is waited for."""
    return step_of(rollout).get("name") == "review" and "enteredAt" in step_of(rollout)
