from __future__ import annotations

from dataclasses import replace

import pytest

from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome
from chaffinch.domain.commands import AnsweredCommand
from chaffinch.domain.events import Event, events_of, normal, warning
from chaffinch.domain.state import Hold, Pause, RolloutState, StableRevision, StepState
from unit.domain.states import (
    AT_CANARY,
    CANDIDATE,
    DEPLOYING,
    FIGHT,
    FOUGHT,
    HEALTHY,
    HELD,
    NEW,
    NOW,
    OLD,
    PAUSED,
    PROMOTED,
    REFUSED,
    ROLLING_BACK,
    STEPPING,
)

IDLE = RolloutState(stable=StableRevision(OLD, NOW), attempts=1)
ENTERING = replace(STEPPING, candidate=replace(AT_CANARY, weight=0, step=StepState(1, NOW)))
PASSED = replace(STEPPING, candidate=replace(AT_CANARY, step=StepState(1, NOW, NOW, NOW)))
MISSED = replace(
    STEPPING,
    candidate=replace(AT_CANARY, paused=Pause(NOW, "ObjectiveFailed", None, "ttft p95 1.29x stable")),
)
REFUSAL = AnsweredCommand(
    name="chat-abort-x7d2p",
    uid="uid-of-the-command",
    action=CommandAction.ABORT,
    revision=NEW,
    by="ann",
    note=None,
    at=NOW,
    outcome=CommandOutcome.REFUSED,
    reason="NothingToDo",
    message="Nothing is being rolled out.",
)
CONTESTED = replace(HEALTHY, router_edits=FIGHT)
FOUGHT_TEXT = "ConfigMap/chat-router is changed by gitops again and again"
STABLE_NOW = replace(IDLE, stable=StableRevision(NEW, NOW), attempts=2, last_attempt=PROMOTED)


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        (IDLE, DEPLOYING, normal("Deploying", "Deploy", f"attempt 2: {NEW} is being deployed")),
        (DEPLOYING, ENTERING, normal("Stepping", "EnterStep", f"Step 2/5 canary-5 begins, {NEW}")),
        (
            ENTERING,
            STEPPING,
            normal("Stepping", "SetWeight", f"{NEW} gets 5% of the traffic, Step 2/5 canary-5"),
        ),
        (STEPPING, PASSED, normal("Sufficient", "PassStep", f"Step 2/5 canary-5 passed, {NEW}")),
        (ENTERING, FOUGHT, warning("RouteFight", "Hold", FOUGHT_TEXT)),
        (
            FOUGHT,
            replace(FOUGHT, hold=None, router_edits=None),
            normal("Stepping", "Resume", "RouteFight is over"),
        ),
        (HEALTHY, CONTESTED, warning("RouteFight", "Hold", f"{FOUGHT_TEXT}; it was put back 5 times")),
        (CONTESTED, HEALTHY, normal("AsExpected", "Resume", "RouteFight is over")),
        (STEPPING, HELD, normal("NoData", "Hold", "no block has matured")),
        (
            STEPPING,
            replace(STEPPING, hold=Hold("EvidenceUnavailable", NOW, None, "Prometheus is away")),
            warning("EvidenceUnavailable", "Hold", "Prometheus is away"),
        ),
        (HELD, STEPPING, normal("Stepping", "Resume", "NoData is over")),
        (
            STEPPING,
            ROLLING_BACK,
            warning("ObjectiveFailed", "RollBack", f"{NEW} is rolled back: ttft p95 1.29x"),
        ),
        (
            ROLLING_BACK,
            REFUSED,
            warning("RolledBack", "RollBack", f"{NEW} is out, stable serves alone: ttft p95 1.29x stable"),
        ),
        (STEPPING, PAUSED, normal("Paused", "Pause", "paused by ann")),
        (PAUSED, STEPPING, normal("Stepping", "Resume", "the pause of 14:07:31Z is over")),
        (STEPPING, MISSED, warning("Paused", "Pause", "ttft p95 1.29x stable")),
        (PAUSED, MISSED, warning("Paused", "Pause", "ttft p95 1.29x stable")),
        (
            HEALTHY,
            replace(HEALTHY, last_command=REFUSAL),
            normal("NothingToDo", "Abort", "Refused: Nothing is being rolled out."),
        ),
        (STEPPING, STABLE_NOW, normal("Promoted", "Promote", f"{NEW} is stable: every step passed")),
    ],
)
def test_a_transition_tells_one_event(before: RolloutState, after: RolloutState, want: Event) -> None:
    assert events_of(before, after) == (want,)


@pytest.mark.parametrize("state", [IDLE, DEPLOYING, STEPPING, HELD, ROLLING_BACK, REFUSED])
def test_nothing_happened_is_nothing_told(state: RolloutState) -> None:
    assert events_of(state, state) == ()


def test_a_hold_whose_message_moves_on_is_told_once() -> None:
    assert HELD.hold is not None
    later = replace(HELD, hold=replace(HELD.hold, message="still none"))
    assert events_of(HELD, later) == ()


def test_a_canary_that_loses_its_weight_is_a_warning() -> None:
    lost = replace(STEPPING, candidate=replace(AT_CANARY, weight=0))
    assert [event.warning for event in events_of(STEPPING, lost)] == [True]


def test_a_candidate_that_only_warms_up_is_not_told() -> None:
    assert events_of(DEPLOYING, replace(DEPLOYING, candidate=replace(CANDIDATE, warm_ups=1))) == ()
