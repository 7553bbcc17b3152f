from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from chaffinch.api.v1alpha1.attempt_status import BaselineStatus, Outcome
from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome
from chaffinch.api.v1alpha1.parse import parse_record
from chaffinch.api.v1alpha1.record import (
    MAX_RECORDED_COMMANDS,
    RecordedCommand,
    RecordedHold,
    RecordedStep,
    RolloutRecordSpec,
    RolloutRecordStatus,
    StepKind,
)
from chaffinch.api.v1alpha1.step_status import ObjectiveStatus, ObjectiveVerdict
from chaffinch.domain.commands import AnsweredCommand
from chaffinch.domain.observation import FrozenRevision, Observation, RevisionSeen
from chaffinch.domain.plan import FrozenBaseline
from chaffinch.domain.record import (
    Move,
    found_by,
    frozen_form,
    is_news,
    record_manifest,
    record_spec,
    updated,
)
from chaffinch.domain.revision import canonical
from chaffinch.domain.state import Hold, Pause, RolloutState, StepState
from unit.domain.states import (
    AT_CANARY,
    CANDIDATE,
    DEPLOYING,
    NEW,
    NOW,
    OLD,
    REFUSED,
    ROLLED_BACK,
    ROLLING_BACK,
    SEEN,
    SPEC,
    STEPPING,
)

LATER = NOW + timedelta(minutes=5)
ROLLOUT = SEEN.rollout
RECORD = record_spec(ROLLOUT, CANDIDATE, OLD, canonical(SPEC))
EMPTY = RolloutRecordStatus()
AT_STEP = RecordedStep(
    name="canary-5", kind=StepKind.CANARY, index=1, weight=500, entered_at=NOW, acknowledged_at=NOW
)
COMMAND = AnsweredCommand(
    name="stop",
    uid="uid-stop",
    action=CommandAction.ABORT,
    revision=NEW,
    by="alice",
    note="looks odd",
    at=LATER,
    outcome=CommandOutcome.ACCEPTED,
    reason="Done",
    message="It is rolled back.",
)
RECORDED_COMMAND = RecordedCommand(
    name="stop",
    action=CommandAction.ABORT,
    by="alice",
    reason="looks odd",
    at=LATER,
    outcome=CommandOutcome.ACCEPTED,
    message="It is rolled back.",
)


def after(
    *states: RolloutState, record: RolloutRecordSpec = RECORD, status: RolloutRecordStatus = EMPTY
) -> RolloutRecordStatus:
    """Return what is kept after passes that went from each of the states to the next."""
    for before, following in pairwise(states):
        status = updated(record, status, Move(before, following, (), LATER))
    return status


def test_a_record_says_what_the_attempt_began_with() -> None:
    assert RECORD.model_dump(exclude={"frozen", "plan"}) == {
        "rollout": "chat",
        "rollout_uid": "uid",
        "revision": NEW,
        "attempt": 2,
        "stable": OLD,
        "started_at": NOW,
    }
    assert RECORD.frozen.startswith('{"engine":{')
    assert '"objectives":[' in RECORD.plan


def test_a_record_is_a_child_of_the_rollout_that_can_be_read_back() -> None:
    manifest = record_manifest(ROLLOUT, RECORD)
    assert manifest["metadata"] == {
        "name": f"chat-{NEW}-a2",
        "namespace": "llm",
        "labels": {
            "app.kubernetes.io/managed-by": "chaffinch",
            "app.kubernetes.io/component": "record",
            "chaffinch.dev/rollout": "chat",
            "chaffinch.dev/revision": NEW,
        },
        "ownerReferences": [
            {
                "apiVersion": "chaffinch.dev/v1alpha1",
                "kind": "InferenceRollout",
                "name": "chat",
                "uid": "uid",
                "controller": True,
                "blockOwnerDeletion": False,
            }
        ],
    }
    assert parse_record(manifest) == RECORD


def test_what_makes_a_revision_is_taken_from_where_it_was_frozen_else_from_the_spec() -> None:
    frozen = FrozenRevision(1, 1, {}, {"as": "frozen"}, 60)
    kept = Observation(ROLLOUT, (RevisionSeen(NEW, frozen),))
    assert frozen_form(SPEC, kept, CANDIDATE) == {"as": "frozen"}
    assert frozen_form(SPEC, Observation(ROLLOUT), CANDIDATE) == canonical(SPEC)
    assert frozen_form(SPEC, Observation(ROLLOUT), replace(CANDIDATE, revision=OLD)) is None


def test_a_step_is_kept_from_when_it_is_entered_until_it_is_passed() -> None:
    entered = replace(STEPPING, candidate=replace(AT_CANARY, weight=0, step=StepState(1, NOW)))
    passed = replace(STEPPING, candidate=replace(AT_CANARY, step=StepState(1, NOW, NOW, LATER)))
    following = replace(STEPPING, candidate=replace(AT_CANARY, step=StepState(2, LATER)))
    assert after(DEPLOYING, DEPLOYING).steps == ()
    assert after(DEPLOYING, entered).steps == (AT_STEP.model_copy(update={"acknowledged_at": None}),)
    assert after(DEPLOYING, entered, STEPPING).steps == (AT_STEP,)
    done = AT_STEP.model_copy(update={"passed_at": LATER})
    first, second = after(DEPLOYING, entered, STEPPING, passed, following).steps
    assert first == done
    assert (second.index, second.entered_at, second.acknowledged_at) == (2, LATER, None)
    # A process that starts now knows the step before only from the state that it finds.
    assert after(passed, following).steps == (first, second)


def test_each_new_start_of_a_step_is_counted_once() -> None:
    def restarted(at: int) -> RolloutState:
        step = StepState(1, NOW, restarted_at=NOW + timedelta(minutes=at))
        return replace(STEPPING, candidate=replace(AT_CANARY, step=step))

    twice = after(STEPPING, restarted(1), restarted(1), restarted(2), restarted(2))
    assert [(step.restarts, step.restarted_at) for step in twice.steps] == [(2, NOW + timedelta(minutes=2))]


def test_figures_go_to_the_step_that_they_were_found_at_and_stay_with_it() -> None:
    found = ObjectiveStatus(
        name="ttft-p95", verdict=ObjectiveVerdict.INCONCLUSIVE, reason="Judging", step="canary-5"
    )
    status = updated(RECORD, EMPTY, Move(STEPPING, STEPPING, (found,), NOW))
    assert status.steps == (AT_STEP.model_copy(update={"objectives": (found,)}),)
    assert after(STEPPING, STEPPING, status=status) == status
    elsewhere = found.model_copy(update={"step": "bake"})
    assert updated(RECORD, status, Move(STEPPING, STEPPING, (elsewhere,), NOW)) == status


def test_without_a_judgement_or_a_step_nothing_was_found() -> None:
    assert found_by(None, STEPPING, NOW) == ()
    assert found_by(None, REFUSED, NOW) == ()


def test_figures_that_something_was_decided_by_are_found_in_the_status_if_not_recorded() -> None:
    stored = (ObjectiveStatus(name="a", verdict=ObjectiveVerdict.PASS, reason="Sufficient", step="canary-5"),)
    passed = replace(STEPPING, candidate=replace(AT_CANARY, step=StepState(1, NOW, NOW, passed_at=LATER)))
    assert found_by(None, passed, NOW, stored) == stored
    assert found_by(None, ROLLING_BACK, NOW, stored) == stored
    # Of a step that is under way they may be an earlier attempt's.
    assert found_by(None, STEPPING, NOW, stored) == ()


def test_a_hold_is_kept_with_its_latest_words_and_its_end() -> None:
    held = replace(STEPPING, hold=Hold("NoData", NOW, None, "nothing yet"))
    still = replace(STEPPING, hold=Hold("NoData", NOW, None, "still nothing"))
    kept = RecordedHold(reason="NoData", since=NOW, step="canary-5", message="still nothing")
    assert after(STEPPING, held, still).holds == (kept,)
    over = kept.model_copy(update={"until": LATER})
    assert after(STEPPING, held, still, STEPPING).holds == (over,)
    another = replace(STEPPING, hold=Hold("StaleData", LATER, None, "too old"))
    assert after(STEPPING, held, still, another).holds == (
        over,
        RecordedHold(reason="StaleData", since=LATER, step="canary-5", message="too old"),
    )


def test_a_pause_is_kept_as_a_hold() -> None:
    pause = Pause(NOW, "Commanded", "alice", "paused by alice")
    paused = replace(STEPPING, candidate=replace(AT_CANARY, paused=pause))
    (kept,) = after(STEPPING, paused, STEPPING).holds
    assert kept == RecordedHold(
        reason="Paused", since=NOW, until=LATER, step="canary-5", message="paused by alice"
    )


def test_the_decision_is_kept_when_it_falls_and_the_outcome_when_it_is_carried_out() -> None:
    decided = after(STEPPING, ROLLING_BACK)
    assert (decided.outcome, decided.cause, decided.message, decided.decided_at) == (
        None,
        "ObjectiveFailed",
        "ttft p95 1.29x",
        NOW,
    )
    held = replace(ROLLING_BACK, hold=Hold("NoData", NOW, None, "routers do not answer"))
    last = replace(ROLLED_BACK, ended_at=LATER, decided_at=NOW)
    ended = after(STEPPING, held, replace(REFUSED, last_attempt=last))
    assert (ended.outcome, ended.cause, ended.message, ended.decided_at, ended.ended_at) == (
        Outcome.ROLLED_BACK,
        "ObjectiveFailed",
        "ttft p95 1.29x stable",
        NOW,
        LATER,
    )
    assert [hold.until for hold in ended.holds] == [LATER]


def test_what_happens_in_other_attempts_is_left_out() -> None:
    third = RECORD.model_copy(update={"attempt": 3})
    assert after(DEPLOYING, STEPPING, ROLLING_BACK, REFUSED, record=third) == EMPTY
    other = RECORD.model_copy(update={"revision": OLD})
    assert after(REFUSED, REFUSED, record=other) == EMPTY


def test_a_command_is_kept_once_with_who_asked_and_why() -> None:
    commanded = replace(ROLLING_BACK, last_command=COMMAND)
    assert after(STEPPING, commanded, commanded).commands == (RECORDED_COMMAND,)


@pytest.mark.parametrize(
    ("command", "state", "want"),
    [
        (replace(COMMAND, at=NOW - timedelta(seconds=1)), STEPPING, 0),
        (replace(COMMAND, at=LATER + timedelta(seconds=1)), REFUSED, 0),
        (replace(COMMAND, at=NOW), REFUSED, 1),
    ],
)
def test_a_command_belongs_to_the_attempt_in_which_it_was_answered(
    command: AnsweredCommand, state: RolloutState, want: int
) -> None:
    assert len(after(STEPPING, replace(state, last_command=command)).commands) == want


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({}, 1),
        ({"outcome": CommandOutcome.REFUSED}, 0),
        ({"action": CommandAction.RESUME}, 0),
        ({"revision": OLD}, 0),
        ({"at": NOW - timedelta(hours=2)}, 0),
    ],
)
def test_a_retry_belongs_to_the_attempt_that_it_has_started(change: dict[str, object], want: int) -> None:
    before = replace(ROLLED_BACK, attempt=1, ended_at=NOW - timedelta(hours=1))
    retry = replace(COMMAND, action=CommandAction.RETRY, at=NOW - timedelta(seconds=1))
    started = replace(DEPLOYING, last_attempt=before, last_command=replace(retry, **change))  # type: ignore[arg-type]
    assert len(after(started, started).commands) == want


def test_of_many_commands_the_newest_are_kept() -> None:
    states = [
        replace(STEPPING, last_command=replace(COMMAND, name=f"c{number}", at=LATER))
        for number in range(MAX_RECORDED_COMMANDS + 2)
    ]
    names = [command.name for command in after(STEPPING, *states).commands]
    assert names == [f"c{number}" for number in range(2, MAX_RECORDED_COMMANDS + 2)]


def test_a_pass_told_twice_changes_nothing() -> None:
    stories = [
        (DEPLOYING, STEPPING),
        (STEPPING, replace(STEPPING, hold=Hold("NoData", NOW, None, "nothing"))),
        (STEPPING, replace(ROLLING_BACK, last_command=COMMAND)),
        (ROLLING_BACK, REFUSED),
    ]
    for before, following in stories:
        once = after(before, following)
        assert after(before, following, status=once) == once


def test_figures_and_words_alone_are_no_news() -> None:
    held = replace(STEPPING, hold=Hold("NoData", NOW, None, "nothing"))
    before = after(STEPPING, held)
    worded = after(STEPPING, replace(held, hold=Hold("NoData", NOW, None, "nothing at all")))
    found = ObjectiveStatus(name="a", verdict=ObjectiveVerdict.PASS, reason="Sufficient", step="canary-5")
    figured = updated(RECORD, before, Move(held, held, (found,), NOW))
    assert before not in (worded, figured)
    assert not is_news(before, worded)
    assert not is_news(before, figured)
    assert is_news(before, after(STEPPING, held, STEPPING))
    assert is_news(EMPTY, before)


def test_the_baseline_that_the_attempt_is_held_to_is_kept() -> None:
    plan = replace(CANDIDATE.plan, baseline=FrozenBaseline("chat-v1", "uid-1", "sha256:aa"))
    held_to = replace(DEPLOYING, candidate=replace(CANDIDATE, plan=plan))
    pinned = BaselineStatus(name="chat-v1", uid="uid-1", digest="sha256:aa")
    assert after(held_to, held_to, REFUSED).baseline == pinned
    assert after(DEPLOYING, DEPLOYING).baseline is None
