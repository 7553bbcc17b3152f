"""Every command in every stage: what it is answered, and where the rollout is afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, Outcome, RolloutStage
from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome
from chaffinch.api.v1alpha1.rollout import OnFailure
from chaffinch.domain.commands import AnsweredCommand, Command
from chaffinch.domain.machine import Next, WriteOrder, step
from chaffinch.domain.observation import Observation
from chaffinch.domain.route import Decision, RouteDecision, RouteIntent, StoredRoute
from chaffinch.domain.state import COMMANDED, LastAttempt, Pause, RolloutState, StepState
from chaffinch.domain.verdict import EvidenceReason, Judgement
from chaffinch.domain.verdict import Outcome as Said
from unit.domain.states import (
    AT_CANARY,
    BAKING,
    CANDIDATE,
    DEPLOYING,
    FIRST,
    HEALTHY,
    NEW,
    NOW,
    OLD,
    PAUSED,
    PROMOTING,
    REFUSED,
    ROLLING_BACK,
    SEEN,
    SPEC,
    STEPPING,
    WAITING,
    judged,
    pods,
)

OTHER = "0ther123"
LATER = NOW + timedelta(minutes=5)


def changed(state: RolloutState, **changes: object) -> RolloutState:
    assert state.candidate is not None
    return replace(state, candidate=replace(state.candidate, **changes))  # type: ignore[arg-type]


FAILED = changed(STEPPING, paused=Pause(NOW, "ObjectiveFailed", None, "ttft p95 1.29x stable"))
APPROVED = changed(WAITING, step=StepState(2, NOW, NOW, passed_at=NOW))
WAITING_PAUSED = changed(WAITING, paused=Pause(NOW, COMMANDED, "ann", "paused by ann"))
ABORTING = changed(ROLLING_BACK, decision=Decision(DecisionKind.ROLLBACK, "Aborted", NOW, "aborted by ann"))
ABORTED = replace(
    REFUSED,
    failed=(),
    last_attempt=LastAttempt(NEW, 2, Outcome.ROLLED_BACK, "Aborted", NOW, "aborted by ann", NOW),
)
UNSCHEDULABLE = replace(
    REFUSED,
    failed=(),
    last_attempt=LastAttempt(
        NEW, 2, Outcome.ROLLED_BACK, "Unschedulable", NOW, "no node has room", NOW, LATER
    ),
)
STABLE_IS_DEAD = replace(SEEN, revisions=(pods(OLD, 0), pods(NEW, 1)))
NOTHING_IS_WARM = replace(SEEN, revisions=(pods(OLD, 4), pods(NEW, 0)))


def command(
    action: str, revision: str = NEW, uid: str = "uid-1", by: str | None = "ann", name: str | None = None
) -> Command:
    at = name or ("sign-off" if action == "Approve" else None)
    return Command(f"c-{uid}", uid, CommandAction(action), revision, NOW, step=at, by=by, note="because")


def answered(
    state: RolloutState, *commands: Command, seen: Observation = SEEN, judgement: Judgement | None = None
) -> Next:
    return step(SPEC, state, replace(seen, commands=tuple(commands)), judgement, NOW)


def told(decided: Next) -> str:
    last = decided.state.last_command
    assert last is not None
    return f"{last.outcome}/{last.reason} {decided.state.stage}"


TABLE: Sequence[tuple[str, RolloutState, Observation, str]] = [
    ("Abort", HEALTHY, SEEN, "Refused/NothingToDo Idle"),
    ("Abort", FIRST, SEEN, "Refused/NothingToGoBackTo Deploying"),
    ("Abort", DEPLOYING, SEEN, "Accepted/Done RollingBack"),
    ("Abort", DEPLOYING, STABLE_IS_DEAD, "Accepted/Done RollingBack"),
    ("Abort", STEPPING, SEEN, "Accepted/Done RollingBack"),
    ("Abort", STEPPING, STABLE_IS_DEAD, "Refused/NothingToGoBackTo Stepping"),
    ("Abort", PAUSED, SEEN, "Accepted/Done RollingBack"),
    ("Abort", FAILED, SEEN, "Accepted/Done RollingBack"),
    ("Abort", WAITING, SEEN, "Accepted/Done RollingBack"),
    ("Abort", BAKING, SEEN, "Accepted/Done RollingBack"),
    ("Abort", PROMOTING, SEEN, "Accepted/Done RollingBack"),
    (
        "Abort",
        changed(PROMOTING, weight=10_000),
        SEEN,
        "Refused/TooLate Promoting",
    ),
    ("Abort", ROLLING_BACK, SEEN, "Refused/TooLate RollingBack"),
    ("Abort", ABORTING, SEEN, "Accepted/Done RollingBack"),
    ("Abort", REFUSED, SEEN, "Refused/NothingToDo Idle"),
    ("Abort", ABORTED, SEEN, "Accepted/Done Idle"),
    ("Promote", HEALTHY, SEEN, "Refused/NothingToDo Idle"),
    ("Promote", FIRST, SEEN, "Refused/NothingToDo Deploying"),
    ("Promote", DEPLOYING, SEEN, "Accepted/Done Promoting"),
    ("Promote", DEPLOYING, NOTHING_IS_WARM, "Refused/NotWarm Deploying"),
    ("Promote", STEPPING, SEEN, "Accepted/Done Promoting"),
    ("Promote", STEPPING, STABLE_IS_DEAD, "Accepted/Done Promoting"),
    ("Promote", PAUSED, SEEN, "Accepted/Done Promoting"),
    ("Promote", FAILED, SEEN, "Accepted/Done Promoting"),
    ("Promote", WAITING, SEEN, "Accepted/Done Promoting"),
    ("Promote", PROMOTING, SEEN, "Refused/NothingToDo Promoting"),
    ("Promote", ROLLING_BACK, SEEN, "Refused/TooLate RollingBack"),
    ("Promote", REFUSED, SEEN, "Refused/NothingToDo Idle"),
    ("Approve", HEALTHY, SEEN, "Refused/NothingToDo Idle"),
    ("Approve", FIRST, SEEN, "Refused/OtherStep Deploying"),
    ("Approve", DEPLOYING, NOTHING_IS_WARM, "Refused/OtherStep Deploying"),
    ("Approve", STEPPING, SEEN, "Refused/OtherStep Stepping"),
    ("Approve", WAITING, SEEN, "Accepted/Done Stepping"),
    ("Approve", WAITING_PAUSED, SEEN, "Refused/Paused Stepping"),
    ("Approve", APPROVED, SEEN, "Refused/NothingToDo Stepping"),
    ("Approve", PROMOTING, SEEN, "Refused/TooLate Promoting"),
    ("Approve", ROLLING_BACK, SEEN, "Refused/TooLate RollingBack"),
    ("Approve", REFUSED, SEEN, "Refused/NothingToDo Idle"),
    ("Pause", HEALTHY, SEEN, "Refused/NothingToDo Idle"),
    ("Pause", FIRST, SEEN, "Refused/NothingToDo Deploying"),
    ("Pause", DEPLOYING, SEEN, "Accepted/Done Deploying"),
    ("Pause", STEPPING, SEEN, "Accepted/Done Stepping"),
    ("Pause", STEPPING, STABLE_IS_DEAD, "Accepted/Done Stepping"),
    ("Pause", WAITING, SEEN, "Accepted/Done Stepping"),
    ("Pause", PAUSED, SEEN, "Refused/NothingToDo Stepping"),
    ("Pause", FAILED, SEEN, "Refused/NothingToDo Stepping"),
    ("Pause", PROMOTING, SEEN, "Refused/TooLate Promoting"),
    ("Pause", ROLLING_BACK, SEEN, "Refused/TooLate RollingBack"),
    ("Resume", HEALTHY, SEEN, "Refused/NothingToDo Idle"),
    ("Resume", FIRST, SEEN, "Refused/NothingToDo Deploying"),
    ("Resume", STEPPING, SEEN, "Refused/NothingToDo Stepping"),
    ("Resume", PAUSED, SEEN, "Accepted/Done Stepping"),
    ("Resume", FAILED, SEEN, "Accepted/Done Stepping"),
    ("Resume", WAITING_PAUSED, SEEN, "Accepted/Done Stepping"),
    ("Resume", PROMOTING, SEEN, "Refused/NothingToDo Promoting"),
    ("Resume", ROLLING_BACK, SEEN, "Refused/NothingToDo RollingBack"),
    ("Retry", HEALTHY, SEEN, "Refused/NothingToDo Idle"),
    ("Retry", FIRST, SEEN, "Refused/NothingToDo Deploying"),
    ("Retry", DEPLOYING, NOTHING_IS_WARM, "Refused/NothingToDo Deploying"),
    ("Retry", STEPPING, SEEN, "Refused/NothingToDo Stepping"),
    ("Retry", PROMOTING, SEEN, "Refused/NothingToDo Promoting"),
    ("Retry", ROLLING_BACK, SEEN, "Refused/TooLate RollingBack"),
    ("Retry", REFUSED, SEEN, "Accepted/Done Deploying"),
    ("Retry", ABORTED, SEEN, "Accepted/Done Deploying"),
    ("Retry", UNSCHEDULABLE, SEEN, "Accepted/Done Deploying"),
]


@pytest.mark.parametrize(("action", "state", "seen", "want"), TABLE)
def test_a_command_is_answered_by_what_the_pass_sees(
    action: str, state: RolloutState, seen: Observation, want: str
) -> None:
    assert told(answered(state, command(action), seen=seen)) == want


@pytest.mark.parametrize(("action", "state", "seen", "want"), TABLE)
def test_a_refused_command_changes_nothing_but_what_is_remembered_of_it(
    action: str, state: RolloutState, seen: Observation, want: str
) -> None:
    if want.startswith("Accepted"):
        return
    decided, without = answered(state, command(action), seen=seen), answered(state, seen=seen)
    assert replace(decided, state=replace(decided.state, last_command=None)) == without


@pytest.mark.parametrize(("action", "state", "seen", "want"), TABLE)
def test_a_command_for_another_revision_is_refused_in_every_stage(
    action: str, state: RolloutState, seen: Observation, want: str
) -> None:
    del want
    decided, without = answered(state, command(action, OTHER), seen=seen), answered(state, seen=seen)
    about_nothing = state.candidate is None and action != "Retry"
    reason = "NothingToDo" if about_nothing else "OtherRevision"
    assert told(decided) == f"Refused/{reason} {without.state.stage}"
    assert replace(decided, state=replace(decided.state, last_command=None)) == without


@pytest.mark.parametrize(("action", "state", "seen", "want"), TABLE)
def test_a_command_that_was_answered_is_not_carried_out_again(
    action: str, state: RolloutState, seen: Observation, want: str
) -> None:
    del want
    first = answered(state, command(action), seen=seen).state.last_command
    remembered = replace(state, last_command=first)
    again = answered(remembered, command(action), command("Abort", uid="uid-2"), seen=seen)
    assert again == answered(remembered, seen=seen)


def test_an_answer_says_whose_command_it_is_about() -> None:
    assert answered(STEPPING, command("Pause")).state.last_command == AnsweredCommand(
        name="c-uid-1",
        uid="uid-1",
        action=CommandAction.PAUSE,
        revision=NEW,
        by="ann",
        note="because",
        at=NOW,
        outcome=CommandOutcome.ACCEPTED,
        reason="Done",
        message="Step 2/5 canary-5: paused by ann: because.",
    )


@pytest.mark.parametrize(
    ("given", "state", "seen", "want"),
    [
        (command("Abort", OTHER), STEPPING, SEEN, f"{NEW} is being rolled out, not {OTHER}. {OLD} serves."),
        (command("Abort", OLD), STEPPING, SEEN, f"{NEW} is being rolled out, not {OLD}. {OLD} serves since"),
        (command("Abort"), REFUSED, SEEN, f"Nothing is being rolled out. {NEW} is out since 14:07:31Z: ttft"),
        (command("Abort"), STEPPING, STABLE_IS_DEAD, f"{OLD} has no ready pod. Get one ready, or promote"),
        (command("Abort"), ROLLING_BACK, SEEN, f"{NEW} is being rolled back already: ttft p95 1.29x."),
        (command("Retry", OTHER), REFUSED, SEEN, f"The spec asks for {NEW}, not {OTHER}. Change the spec"),
        (command("Retry"), HEALTHY, SEEN, f"{NEW} serves already."),
        (
            command("Approve", name="other"),
            WAITING,
            SEEN,
            "Step 3/6 sign-off waits for its approval.",
        ),
        (command("Approve"), STEPPING, SEEN, "Step 2/5 canary-5 is under way; approve when the step waits."),
        (command("Promote", by=None), FAILED, SEEN, f"{NEW} is promoted by a person, without the steps that"),
    ],
)
def test_an_answer_says_why_and_what_can_be_done_instead(
    given: Command, state: RolloutState, seen: Observation, want: str
) -> None:
    last = answered(state, given, seen=seen).state.last_command
    assert last is not None
    assert last.message.startswith(want)


def test_an_abort_takes_the_traffic_off_before_anything_is_recorded() -> None:
    decided = answered(STEPPING, command("Abort"))
    assert decided.order is WriteOrder.ROUTE_FIRST
    candidate = decided.state.candidate
    assert candidate is not None
    assert candidate.decision is not None
    assert candidate.weight == 0
    assert candidate.decision == Decision(
        DecisionKind.ROLLBACK, "Aborted", NOW, "aborted by ann", command="c-uid-1"
    )


def test_a_promotion_by_command_says_which_command() -> None:
    candidate = answered(STEPPING, command("Promote")).state.candidate
    assert candidate is not None
    assert candidate.decision is not None
    assert (candidate.decision.kind, candidate.decision.command) == (DecisionKind.PROMOTE, "c-uid-1")


def test_an_aborted_revision_is_not_a_failed_one_and_not_tried_again_by_itself() -> None:
    out = step(SPEC, ABORTING, replace(SEEN, router=replace(SEEN.router, pods=())), None, NOW).state
    assert out.last_attempt is not None
    assert (out.stage, out.failed, out.last_attempt.cause) == (RolloutStage.IDLE, (), "Aborted")
    later = NOW + timedelta(days=1)
    assert step(SPEC, out, SEEN, None, later).state.candidate is None


def test_an_abort_of_long_ago_does_not_answer_one_of_now() -> None:
    given = replace(command("Abort"), created=NOW + timedelta(seconds=1))
    assert told(answered(ABORTED, given)) == "Refused/NothingToDo Idle"


FAIL = judged(EvidenceReason.SUFFICIENT, Said.FAIL)
PAUSES_ON_FAILURE = changed(STEPPING, plan=replace(AT_CANARY.plan, on_failure=OnFailure.PAUSE))


@pytest.mark.parametrize("action", ["Promote", "Pause", "Resume", "Approve", "Abort", "Retry"])
def test_no_command_stands_between_a_fail_and_the_rollback(action: str) -> None:
    decided = answered(STEPPING, command(action), judgement=FAIL)
    candidate = decided.state.candidate
    assert candidate is not None
    assert candidate.decision is not None
    assert (decided.order, candidate.decision.cause) == (WriteOrder.ROUTE_FIRST, "ObjectiveFailed")
    assert (decided.state.last_command, candidate.decision.command) == (None, None)


@pytest.mark.parametrize("action", ["Promote", "Resume", "Abort"])
def test_a_fail_that_pauses_is_recorded_before_a_command_is_dealt_with(action: str) -> None:
    decided = answered(PAUSES_ON_FAILURE, command(action), judgement=FAIL)
    candidate = decided.state.candidate
    assert candidate is not None
    assert candidate.paused is not None
    assert (candidate.weight, candidate.paused.cause) == (500, "ObjectiveFailed")
    assert decided.state.last_command is None
    following = answered(decided.state, command(action), judgement=FAIL)
    assert following.state.last_command is not None
    assert following.state.last_command.outcome == "Accepted"


def test_no_command_stands_between_the_routes_decision_and_the_rollback() -> None:
    decision = RouteDecision(DecisionKind.ROLLBACK, "Aborted", NOW)
    route = StoredRoute(1, 7, "v7", RouteIntent(2, OLD, (), decision))
    seen = replace(SEEN, router=replace(SEEN.router, route=route))
    decided = answered(STEPPING, command("Abort"), seen=seen)
    assert (decided.state.stage, decided.state.last_command) == (RolloutStage.ROLLING_BACK, None)
    assert told(answered(decided.state, command("Abort"), seen=seen)) == "Accepted/Done RollingBack"


def test_nothing_is_answered_by_a_pass_that_lacks_a_read() -> None:
    seen = replace(SEEN, problems=("the API server did not answer",))
    assert answered(STEPPING, command("Abort"), seen=seen).state == STEPPING


def test_a_command_does_not_keep_an_attempt_from_starting() -> None:
    idle = RolloutState(stable=STEPPING.stable, attempts=1)
    assert told(answered(idle, command("Abort"))) == "Refused/NothingToDo Deploying"
    assert told(answered(idle, command("Retry"))) == "Refused/NothingToDo Deploying"


def test_a_command_comes_before_progress() -> None:
    passed = changed(STEPPING, step=StepState(1, NOW, NOW, passed_at=NOW))
    without, decided = answered(passed).state.candidate, answered(passed, command("Pause")).state.candidate
    assert without is not None
    assert decided is not None
    assert (without.step, decided.step) == (StepState(2, NOW), passed.candidate and passed.candidate.step)


def test_a_resumed_step_that_missed_an_objective_begins_anew_with_all_its_time() -> None:
    failed = changed(FAILED, step=StepState(1, NOW - timedelta(hours=9)))
    candidate = answered(failed, command("Resume")).state.candidate
    assert candidate is not None
    assert (candidate.paused, candidate.step) == (None, StepState(1, NOW, restarted_at=NOW))


def test_a_step_that_a_person_paused_and_resumed_keeps_its_evidence() -> None:
    candidate = answered(PAUSED, command("Resume")).state.candidate
    assert candidate is not None
    assert (candidate.paused, candidate.step) == (None, AT_CANARY.step)


def test_a_retry_forgets_the_failure_of_this_revision_only() -> None:
    decided = answered(replace(REFUSED, failed=(OTHER, NEW)), command("Retry"))
    assert (decided.state.failed, decided.state.attempts) == ((OTHER,), 3)
    assert decided.state.candidate is not None
    assert decided.state.candidate.attempt == 3


def test_a_deploying_candidate_is_an_attempt_without_a_step() -> None:
    decided = answered(DEPLOYING, command("Promote"))
    candidate = decided.state.candidate
    assert candidate is not None
    assert candidate.decision is not None
    assert (candidate.step, candidate.weight) == (CANDIDATE.step, 0)
    assert candidate.decision.message == "promoted by ann, without the steps that were left"
