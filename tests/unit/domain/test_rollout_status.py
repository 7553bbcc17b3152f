from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, DecisionStatus, RolloutProgress
from chaffinch.domain.conditions.view import View
from chaffinch.domain.record import record_manifest, record_spec
from chaffinch.domain.rollout_status import status_of
from chaffinch.domain.route import Decision
from chaffinch.domain.state import Pause, RolloutState
from chaffinch.domain.status_codec import state_of
from chaffinch.domain.verdict import EvidenceReason, GateVerdict
from chaffinch.domain.verdict import Outcome as Said
from unit.domain.states import (
    AT_CANARY,
    CANDIDATE,
    DEPLOYING,
    FIRST,
    HEALTHY,
    NOW,
    PAUSED,
    PROMOTING,
    ROLLING_BACK,
    SEEN,
    SPEC,
    STEPPING,
    judged,
)
from unit.verdict.builders import regression

MISSED = replace(
    STEPPING, candidate=replace(AT_CANARY, paused=Pause(NOW, "ObjectiveFailed", None, "ttft p95 1.29x"))
)
ABORT = Decision(DecisionKind.ROLLBACK, "Aborted", NOW, "aborted by ann", "chat-abort-x7d2p")
ABORTED = replace(ROLLING_BACK, candidate=replace(AT_CANARY, weight=0, decision=ABORT))


def progress(state: RolloutState) -> RolloutProgress:
    found = status_of(View(SPEC, state, SEEN, None, NOW), 3, None).rollout
    assert found is not None
    return found


@pytest.mark.parametrize("state", [FIRST, DEPLOYING, STEPPING, PROMOTING, ROLLING_BACK])
def test_a_running_attempt_names_its_record(state: RolloutState) -> None:
    kept = record_manifest(SEEN.rollout, record_spec(SEEN.rollout, CANDIDATE, None, {}))
    assert progress(state).record == kept["metadata"]["name"]


def test_nothing_names_a_record_while_nothing_is_tried() -> None:
    assert status_of(View(SPEC, HEALTHY, SEEN, None, NOW), 3, None).rollout is None


@pytest.mark.parametrize(
    ("state", "want"),
    [
        (STEPPING, None),
        (PAUSED, None),
        (
            MISSED,
            DecisionStatus(
                kind=DecisionKind.PAUSE, cause="ObjectiveFailed", at=NOW, message="ttft p95 1.29x"
            ),
        ),
        (
            ROLLING_BACK,
            DecisionStatus(
                kind=DecisionKind.ROLLBACK, cause="ObjectiveFailed", at=NOW, message="ttft p95 1.29x"
            ),
        ),
        (
            ABORTED,
            DecisionStatus(
                kind=DecisionKind.ROLLBACK,
                cause="Aborted",
                at=NOW,
                message="aborted by ann",
                command="chat-abort-x7d2p",
            ),
        ),
    ],
    ids=["none", "a person's pause", "a miss that pauses", "a miss that rolls back", "a person's abort"],
)
def test_what_was_decided_is_told_with_the_command_that_it_came_from(
    state: RolloutState, want: DecisionStatus | None
) -> None:
    assert progress(state).decision == want


def test_a_decision_to_pause_is_remembered_as_the_pause() -> None:
    remembered = state_of(status_of(View(SPEC, MISSED, SEEN, None, NOW), 3, None)).candidate
    assert remembered is not None
    assert (remembered.decision, remembered.paused) == (
        None,
        Pause(NOW, "ObjectiveFailed", None, "ttft p95 1.29x"),
    )


def test_the_next_look_at_an_objective_is_foreseen_from_the_steps_own_clock() -> None:
    undecided = GateVerdict(
        gate=regression(),
        outcome=Said.INCONCLUSIVE,
        reason=EvidenceReason.JUDGING,
        value=0.25,
        control=0.24,
        ratio=1.04,
        interval=(None, None),
        candidate=200,
        control_requests=800,
        next_look=225,
    )
    judgement = replace(judged(EvidenceReason.JUDGING), verdicts=(undecided,))
    later = NOW + timedelta(minutes=8)
    told = status_of(View(SPEC, STEPPING, SEEN, judgement, later), 3, None).objectives
    assert [each.eta for each in told] == [NOW + timedelta(minutes=9)]
