"""A crash before every single write of a rollout that is commanded: each command is carried out once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache

import pytest

from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, rolled_back, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import STEPS, V2, rollout_spec, with_steps

SIGN_OFF = {"name": "sign-off", "approval": {}}
SPEC = rollout_spec(
    V2,
    strategy=with_steps(
        STEPS[0],
        {"name": "canary-25", "canary": {"weight": 25, "for": "20s"}},
        SIGN_OFF,
        {"name": "canary-50", "canary": {"weight": 50, "for": "20s"}},
        {"name": "bake", "bake": {"for": "20s"}},
    ),
)


@cache
def canary() -> Operator:
    return rolling_out(Behaviour(), SPEC).run(300, until=at_step("canary-25"))


@cache
def waiting() -> Operator:
    return copy.deepcopy(canary()).run(300, until=at_step("sign-off"))


@cache
def paused() -> Operator:
    operator = copy.deepcopy(waiting())
    operator.command("Pause")
    return operator.run(30)


@cache
def aborted() -> Operator:
    operator = copy.deepcopy(canary())
    operator.command("Abort")
    return operator.run(60, until=rolled_back).run(20)


def is_paused(operator: Operator) -> bool:
    return operator.status is not None and operator.status.phase == "Paused"


Predicate = Callable[[Operator], bool]
STORIES: dict[str, tuple[Callable[[], Operator], str, str | None, Predicate]] = {
    "abort": (canary, "Abort", None, rolled_back),
    "promote": (canary, "Promote", None, healthy),
    "approve": (waiting, "Approve", "sign-off", at_step("canary-50")),
    "pause": (canary, "Pause", None, is_paused),
    "resume": (
        paused,
        "Resume",
        None,
        lambda op: op.condition("Reconciling") == ("True", "AwaitingApproval"),
    ),
    "retry": (aborted, "Retry", None, at_step("canary-25")),
}


def told(name: str, crash_before: int | None) -> Operator:
    start, action, step, end = STORIES[name]
    operator = copy.deepcopy(start())
    operator.log, operator.crash_before = [], crash_before
    command = operator.command(action, step=step)
    operator.run(400, until=lambda op: command.uid in op.world.answers and end(op))
    operator.run(20)
    assert operator.answer_to(command) == "Accepted/Done", f"crash before write {crash_before}"
    return operator


def end_of(operator: Operator) -> tuple[object, ...]:
    state, last = operator.state, operator.state.last_attempt
    assert operator.world.route is not None
    return (
        state.stage,
        state.attempts,
        state.failed,
        last and (last.revision, last.outcome, last.cause, last.message),
        state.candidate and state.candidate.paused and state.candidate.paused.cause,
        operator.world.route.intent.weight_of(revision_of(SPEC)),
        dict(operator.world.replicas),
        frozenset(operator.world.made),
    )


@pytest.mark.parametrize("name", STORIES)
def test_a_crash_before_any_write_carries_a_command_out_once(name: str) -> None:
    reference = told(name, None)
    for k in range(1, reference.writes + 1):
        assert end_of(told(name, k)) == end_of(reference), f"crash before write {k}"


def test_an_answer_that_was_lost_is_given_again_and_the_next_command_waits_for_that() -> None:
    operator = copy.deepcopy(canary())
    first = operator.command("Pause")
    second = operator.command("Resume")
    operator.log, operator.crash_before = [], 2  # the answer, after the status
    operator.pass_once()
    assert (operator.answer_to(first), operator.answer_to(second)) == ("none", "none")
    assert is_paused(operator)
    operator.pass_once()
    assert (operator.answer_to(first), operator.answer_to(second)) == ("Accepted/Done", "none")
    operator.pass_once()
    assert operator.answer_to(second) == "Accepted/Done"
    assert not is_paused(operator)


def test_a_refused_command_is_answered_once_and_then_nothing_is_written() -> None:
    operator = serving_v1()
    command = operator.command("Abort", "0123abcd")
    operator.run(10)
    assert operator.answer_to(command) == "Refused/NothingToDo"
    assert_quiet(operator)
