from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome, RolloutCommandStatus
from chaffinch.api.v1alpha1.reasons import CommandReason
from chaffinch.domain.commands import AnsweredCommand, Command
from chaffinch.ports.cluster import Kinds, Manifest, UnavailableError
from chaffinch.runtime.commands import Replies, command_of, is_answered, waiting
from chaffinch.runtime.metrics import Metrics
from fakes.cluster import FakeCluster
from fakes.commands import REVISION, answer_to, command
from fakes.virtual_time import START, run
from fakes.world import NAME, NAMESPACE

LATER = START + timedelta(seconds=5)
SOON, IDLE = 5, 60
ANSWER = AnsweredCommand(
    name="stop",
    uid="stop",
    action=CommandAction.ABORT,
    revision=REVISION,
    by="alice",
    note=None,
    at=LATER,
    outcome=CommandOutcome.ACCEPTED,
    reason=CommandReason.DONE,
    message="It is rolled back.",
)


def test_a_command_is_read_with_all_that_was_said() -> None:
    assert command_of(command("go", "Approve", step="review", reason="looks good")) == Command(
        name="go",
        uid="go",
        action=CommandAction.APPROVE,
        revision=REVISION,
        created=START,
        step="review",
        by="alice",
        note="looks good",
    )


def test_the_unanswered_commands_of_the_rollout_wait_oldest_first() -> None:
    answered = {**command("answered"), "status": {"outcome": "Refused"}}
    found = [
        command("newest", created=LATER + timedelta(seconds=1)),
        command("b", created=LATER),
        command("a", created=LATER),
        command("oldest"),
        command("elsewhere", rollout="other"),
        command("broken", "Fly"),
        answered,
        {**command("bare"), "spec": None},
    ]
    assert list(waiting(found, NAME, None)) == ["oldest", "a", "b", "newest"]


def test_a_command_whose_answer_is_remembered_is_not_overtaken_by_one_of_the_same_second() -> None:
    assert list(waiting([command("a"), command("b")], NAME, "b")) == ["b", "a"]


@pytest.mark.parametrize(
    ("status", "want"), [({}, False), ({"outcome": None}, False), ({"outcome": "Accepted"}, True)]
)
def test_a_command_is_answered_once_it_has_an_outcome(status: dict[str, object], want: bool) -> None:
    assert is_answered({**command("stop"), "status": status}) is want


def _cluster(*bodies: Manifest) -> tuple[FakeCluster, dict[str, Manifest]]:
    cluster = FakeCluster()
    stored = [cluster.put(body) for body in bodies]
    return cluster, waiting(stored, NAME, None)


def test_the_remembered_answer_is_written_into_its_command_and_no_other() -> None:
    cluster, commands = _cluster(command("stop"), command("other"))
    replies, metrics = _replies(cluster)
    run(replies.give(commands, ANSWER))
    assert cluster.read(Kinds.COMMAND, NAMESPACE, "stop")["status"] == {
        "outcome": "Accepted",
        "reason": "Done",
        "message": "It is rolled back.",
        "at": "2026-03-01T14:00:05Z",
    }
    assert answer_to(cluster, "other") == (None, None)
    assert replies.again_in(IDLE, SOON) == IDLE
    assert _counted(metrics) == {("Abort", "Accepted"): 1}


def test_without_a_command_that_waits_for_the_remembered_answer_nothing_is_written() -> None:
    cluster, commands = _cluster(command("other"))
    replies, _ = _replies(cluster)
    run(replies.give(commands, ANSWER))
    run(replies.give(commands, None))
    assert cluster.writes() == {}


def test_an_answer_that_cannot_be_written_is_owed_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster, commands = _cluster(command("stop"))
    replies, metrics = _replies(cluster)
    cluster.fault = lambda verb, _: UnavailableError("away") if verb == "patch" else None
    run(replies.give(commands, ANSWER))
    assert replies.again_in(IDLE, SOON) == SOON
    assert [one.message for one in caplog.records] == ["command stop could not be answered: away"]
    assert _counted(metrics) == {}
    cluster.fault = lambda _, __: None
    run(replies.give(commands, ANSWER))
    assert replies.again_in(IDLE, SOON) == IDLE
    assert answer_to(cluster, "stop") == ("Accepted", "Done")


def test_an_answer_that_can_never_be_written_is_tried_less_and_less_often_up_to_every_half_minute() -> None:
    cluster, commands = _cluster(command("stop"))
    replies, _ = _replies(cluster)
    cluster.fault = lambda _, __: UnavailableError("away")
    pauses = []
    for _ in range(5):
        run(replies.give(commands, ANSWER))
        pauses.append(replies.again_in(IDLE, SOON))
    assert pauses == [5, 10, 20, 30, 30]
    assert replies.again_in(1, SOON) == 1, "the rollout itself waits for no answer"


def test_of_many_refusals_that_cannot_be_written_one_is_tried() -> None:
    cluster, commands = _cluster(*(command(f"stop-{number}") for number in range(4)))
    replies, _ = _replies(cluster)
    cluster.fault = lambda _, __: UnavailableError("away")
    run(replies.refuse(commands.values(), CommandReason.INVALID_SPEC, "mend it", LATER))
    assert cluster.writes() == {"patch RolloutCommand": 1}


def test_a_command_that_was_changed_since_it_was_read_is_not_overwritten() -> None:
    cluster, commands = _cluster(command("stop"))
    cluster.put({**command("stop"), "status": {"outcome": "Refused", "reason": "NoSuchRollout"}})
    replies, _ = _replies(cluster)
    run(replies.give(commands, ANSWER))
    assert replies.again_in(IDLE, SOON) == SOON
    assert answer_to(cluster, "stop") == ("Refused", "NoSuchRollout")


def test_a_refusal_is_logged_in_one_line_and_cut_to_what_the_status_takes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster, commands = _cluster(command("stop"))
    replies, metrics = _replies(cluster)
    with caplog.at_level(logging.INFO):
        run(replies.refuse(commands.values(), CommandReason.INVALID_SPEC, "x" * 600, LATER))
    stored = cluster.read(Kinds.COMMAND, NAMESPACE, "stop")["status"]
    assert RolloutCommandStatus.model_validate(stored).message == "x" * 512
    assert [one.message for one in caplog.records] == [f"Refused InvalidSpec: {'x' * 512}"]
    assert _counted(metrics) == {("Abort", "Refused"): 1}


def _replies(cluster: FakeCluster) -> tuple[Replies, Metrics]:
    metrics = Metrics()
    return Replies(cluster, metrics), metrics


def _counted(metrics: Metrics) -> dict[tuple[str, str], float]:
    return {
        (sample.labels["action"], sample.labels["outcome"]): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "chaffinch_commands_total"
    }
