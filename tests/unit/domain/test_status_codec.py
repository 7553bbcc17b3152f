from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, Outcome, RolloutStage
from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.status import RolloutStatus
from chaffinch.domain.commands import AnsweredCommand
from chaffinch.domain.conditions.view import View
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import Observation
from chaffinch.domain.plan import plan_of
from chaffinch.domain.rollout_status import status_of
from chaffinch.domain.route import Decision
from chaffinch.domain.state import (
    Candidate,
    Hold,
    LastAttempt,
    Pause,
    PodStorm,
    RolloutState,
    RouterEdits,
    StableRevision,
    StepState,
    WarmPod,
    WarmUp,
)
from chaffinch.domain.status_codec import plan_from_json, plan_to_json, state_of
from chaffinch.domain.verdict import GateMemory, JudgeState
from chaffinch.domain.verdict import Outcome as Said
from unit.domain.revisions import edited

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
SEEN = Observation(RolloutIdentity("llm", "chat", "uid"))
SPEC = edited("baseline", {"name": "chat", "version": "v1"})
PLAN = plan_of(SPEC, uid="uid-of-baseline", digest="sha256:" + "a" * 64)

CANDIDATE = Candidate(
    revision="cccccccc",
    attempt=3,
    started_at=NOW,
    deadline=NOW + timedelta(minutes=15),
    plan=PLAN,
    warmed=(WarmPod("c1", 0), WarmPod("c2", 1)),
    warm_up=WarmUp(2, (WarmPod("c3", 0),), failures=1),
    warm_ups=2,
    step=StepState(
        index=2,
        entered_at=NOW,
        acknowledged_at=NOW,
        passed_at=NOW,
        run=2,
        runs_before=1,
        restarted_at=NOW + timedelta(seconds=5),
        judge=JudgeState({"ttft/max/Limit": GateMemory(2, 225, 1, 150, Said.PASS)}),
    ),
    weight=500,
    paused=Pause(NOW, "ObjectiveFailed", None, "ttft p95 1.3x"),
)
STEPPING = RolloutState(
    stage=RolloutStage.STEPPING,
    stable=StableRevision("aaaaaaaa", NOW),
    candidate=CANDIDATE,
    attempts=3,
    hold=Hold("NoData", NOW, NOW + timedelta(minutes=30), "no data"),
    last_attempt=LastAttempt("bbbbbbbb", 2, Outcome.ROLLED_BACK, "Unschedulable", NOW, "no room", NOW, NOW),
    last_command=AnsweredCommand(
        name="chat-pause-x7d2p",
        uid="uid-of-the-command",
        action=CommandAction.PAUSE,
        revision="cccccccc",
        by="ann",
        note="a look at the figures",
        at=NOW,
        outcome=CommandOutcome.REFUSED,
        reason="NothingToDo",
        message="It is paused since 12:00:00Z.",
    ),
    failed=("bbbbbbbb",),
    storms=(PodStorm("aaaaaaaa", NOW, 9, 1, NOW + timedelta(minutes=2)),),
    router_edits=RouterEdits(5, NOW, "ConfigMap/chat-router", "gitops", NOW + timedelta(seconds=9)),
    sequence=1,
)
DEPLOYING_FIRST = RolloutState(
    stage=RolloutStage.DEPLOYING,
    candidate=Candidate("cccccccc", 1, NOW, NOW, plan_of(edited())),
    attempts=1,
    sequence=1,
)
ROLLING_BACK = replace(
    STEPPING,
    stage=RolloutStage.ROLLING_BACK,
    hold=None,
    candidate=replace(
        CANDIDATE,
        decision=Decision(DecisionKind.ROLLBACK, "Aborted", NOW, "aborted by ann", "chat-abort-x7d2p"),
    ),
)
IDLE = replace(STEPPING, stage=RolloutStage.IDLE, candidate=None, hold=None)


def stored(state: RolloutState, spec: InferenceRolloutSpec = SPEC) -> RolloutStatus:
    """The status of a state, through the JSON that the API server keeps."""
    status = status_of(View(spec, state, SEEN, None, NOW), 1, None)
    return RolloutStatus.model_validate(status.to_dict())


@pytest.mark.parametrize(
    "state",
    [STEPPING, DEPLOYING_FIRST, ROLLING_BACK, IDLE],
    ids=["stepping", "first", "rolling back", "idle"],
)
def test_a_state_survives_the_status(state: RolloutState) -> None:
    status = stored(state)
    assert replace(state_of(status), sequence=1) == state


def test_no_status_is_the_empty_state() -> None:
    assert state_of(None) == RolloutState()
    assert state_of(RolloutStatus()).is_empty


@pytest.mark.parametrize(
    "broken",
    [
        {"plan": "{"},
        {"plan": '{"objectives": []}'},
        {"plan": plan_to_json(PLAN).replace("warmUp", "unknown")},
        {"plan": None},
        {"step": None},
    ],
)
def test_a_status_that_does_not_hold_together_is_a_lost_one(broken: dict[str, object]) -> None:
    status = stored(STEPPING)
    assert status.rollout is not None
    edited_status = status.model_copy(update={"rollout": status.rollout.model_copy(update=broken)})
    assert state_of(edited_status) == RolloutState()


@pytest.mark.parametrize("field", ["candidate", "rollout"])
def test_half_an_attempt_is_a_lost_status(field: str) -> None:
    assert state_of(stored(STEPPING).model_copy(update={field: None})) == RolloutState()


def test_a_broken_memory_of_the_judge_grants_no_new_looks() -> None:
    status = stored(STEPPING)
    assert status.rollout is not None
    assert status.rollout.step is not None
    step = status.rollout.step.model_copy(update={"judge": '{"ttft/max/Limit": {}}'})
    progress = status.rollout.model_copy(update={"step": step})
    assert state_of(status.model_copy(update={"rollout": progress})) == RolloutState()


def test_a_plan_is_small_enough_for_its_field() -> None:
    assert len(plan_to_json(PLAN)) < 2_000


def test_a_plan_without_its_pinned_baseline_knows_its_name_only() -> None:
    again = plan_from_json(plan_to_json(PLAN), None)
    assert again.baseline is not None
    assert (again.baseline.name, again.baseline.uid) == ("chat-v1", "")
