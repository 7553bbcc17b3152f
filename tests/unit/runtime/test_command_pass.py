from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from chaffinch.ports.cluster import Kinds, UnavailableError
from chaffinch.runtime.command_pass import KEPT_SECONDS, CommandPass
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.loop import GONE, Outcome
from chaffinch.runtime.metrics import Metrics
from fakes.cluster import FakeCluster
from fakes.commands import answer_to, command
from fakes.virtual_time import LoopClock, run
from fakes.world import NAME, NAMESPACE, rollout

IDLE, REST = 60, 3600
STOP = Subject(SubjectKind.COMMAND, NAMESPACE, "stop", "stop")
DONE = {"outcome": "Accepted", "reason": "Done"}


class Desk:
    """One command, beside a rollout of the name that it gives unless told otherwise."""

    def __init__(
        self,
        body: Mapping[str, Any] | None = None,
        *,
        rollouts: bool = True,
        status: Mapping[str, str] | None = None,
    ) -> None:
        self.cluster = FakeCluster()
        if rollouts:
            self.cluster.put(rollout())
        stored = dict(body or command("stop"))
        self.cluster.put({**stored, "status": status} if status else stored)
        self._pass = CommandPass(self.cluster, LoopClock(), Metrics(), IDLE)

    def run_pass(self, after: float = 0, subject: Subject = STOP) -> Outcome:
        """Do one pass, so many seconds after the command was created."""

        async def later() -> Outcome:
            await asyncio.sleep(after)
            return await self._pass.run(subject)

        return run(later())

    @property
    def is_there(self) -> bool:
        return (Kinds.COMMAND.kind, NAMESPACE, "stop") in self.cluster.objects


def test_a_command_for_a_rollout_that_exists_is_left_to_it() -> None:
    desk = Desk()
    assert desk.run_pass() == Outcome(IDLE)
    assert desk.cluster.writes() == {}


def test_a_command_for_a_rollout_that_does_not_exist_is_refused_and_kept_to_be_read() -> None:
    desk = Desk(rollouts=False)
    assert desk.run_pass() == Outcome(REST)
    assert answer_to(desk.cluster, "stop") == ("Refused", "NoSuchRollout")
    message = desk.cluster.read(Kinds.COMMAND, NAMESPACE, "stop")["status"]["message"]
    assert message == (
        f"There is no InferenceRollout {NAME} in namespace {NAMESPACE}. Check its name and namespace,"
        " and create another command."
    )
    assert desk.run_pass(REST) == Outcome(REST)
    assert desk.cluster.writes() == {"patch RolloutCommand": 1}


@pytest.mark.parametrize(
    ("broken", "want"),
    [
        ({"action": "Fly"}, "spec.action: "),
        ({"step": "review"}, "spec.step: Approve needs the step that is approved"),
        ({"rollout": "../chat"}, "spec.rollout: "),
        ({"revision": None}, "spec.revision: "),
    ],
)
def test_a_command_that_breaks_a_rule_is_refused_by_field_and_kept_to_be_read(
    broken: dict[str, Any], want: str
) -> None:
    body = command("stop")
    desk = Desk({**body, "spec": {**body["spec"], **broken}}, rollouts=False)
    assert desk.run_pass() == Outcome(REST)
    assert answer_to(desk.cluster, "stop") == ("Refused", "Invalid")
    message = desk.cluster.read(Kinds.COMMAND, NAMESPACE, "stop")["status"]["message"]
    assert message.startswith(want)
    assert message.endswith(".")
    assert desk.run_pass(REST) == Outcome(REST)


def test_an_answered_command_goes_with_the_rollout_that_answered_it() -> None:
    desk = Desk(rollouts=False, status=DONE)
    assert desk.run_pass() is GONE
    assert not desk.is_there


@pytest.mark.parametrize("reason", ["Done", "NoSuchRollout"])
def test_an_answered_command_is_kept_for_seven_days_and_nothing_is_written_until_then(reason: str) -> None:
    desk = Desk(status={**DONE, "reason": reason})
    assert desk.run_pass(3 * 24 * REST) == Outcome(REST)
    assert desk.run_pass(KEPT_SECONDS - 10) == Outcome(10)
    assert desk.cluster.writes() == {}
    assert desk.run_pass(KEPT_SECONDS) is GONE
    assert desk.cluster.writes() == {"delete RolloutCommand": 1}


def test_a_broken_command_goes_after_seven_days_too() -> None:
    desk = Desk(command("stop", "Fly"), status={"outcome": "Refused", "reason": "Invalid"})
    assert desk.run_pass(KEPT_SECONDS) is GONE
    assert not desk.is_there


def test_a_command_that_is_being_deleted_is_left_alone() -> None:
    body = command("stop")
    body["metadata"]["deletionTimestamp"] = "2026-03-01T14:00:00Z"
    desk = Desk(body, rollouts=False)
    assert desk.run_pass() == Outcome(IDLE)
    assert desk.cluster.writes() == {}


@pytest.mark.parametrize("subject", [("stop", "another"), ("absent", "stop")])
def test_a_command_that_is_gone_or_another_ends_its_task(subject: tuple[str, str]) -> None:
    assert Desk().run_pass(subject=Subject(SubjectKind.COMMAND, NAMESPACE, *subject)) is GONE


def test_a_rollout_that_cannot_be_looked_for_is_not_taken_for_absent() -> None:
    desk = Desk()
    desk.cluster.fault = lambda _, key: UnavailableError("away") if key[0] == "InferenceRollout" else None
    with pytest.raises(UnavailableError):
        desk.run_pass()
    assert desk.cluster.writes() == {}
