from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.attempt_status import Outcome
from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, rolling_out
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import SHORT, V1, V2, V3, rollout_spec


def candidate_is(revision: str, operator: Operator) -> bool:
    return operator.state.candidate is not None and operator.state.candidate.revision == revision


@pytest.mark.parametrize("step", ["canary-5", "canary-50", "bake"])
def test_another_revision_supersedes_the_one_that_is_tried(step: str) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step(step))
    v2, v3 = revision_of(operator.spec), revision_of(rollout_spec(V3))
    operator.edit(rollout_spec(V3))
    operator.run(30, until=lambda op: candidate_is(v3, op))
    assert operator.world.route is not None
    assert operator.world.route.intent.weight_of(v2) == 0
    last = operator.state.last_attempt
    assert last is not None
    assert (last.revision, last.outcome, last.cause) == (v2, Outcome.SUPERSEDED, "Superseded")
    operator.run(900, until=healthy)
    assert operator.state.failed == ()
    assert operator.state.attempts == 3
    assert_quiet(operator)


def test_an_edit_back_to_stable_returns_at_once() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    v2 = revision_of(operator.spec)
    operator.edit(rollout_spec(V1))
    operator.run(10, until=healthy)
    assert operator.state.failed == ()
    operator.run(3)
    assert operator.world.replicas[v2] == 0
    assert_quiet(operator)


def test_a_superseded_revision_may_be_asked_for_again() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    operator.edit(rollout_spec(V1))
    operator.run(10, until=healthy)
    operator.edit(rollout_spec(V2))
    operator.run(900, until=healthy)
    assert operator.state.attempts == 3


def test_an_edit_while_promoting_starts_after_the_promotion() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("bake"))
    v2 = revision_of(operator.spec)
    operator.run(120, until=lambda op: bool(op.oracle.promotions))
    operator.edit(rollout_spec(V3))
    operator.run(60, until=lambda op: op.state.candidate is not None and op.state.candidate.attempt == 3)
    assert operator.state.stable is not None
    assert operator.state.stable.revision == v2


def test_the_last_three_revisions_are_kept_at_no_pods_and_older_ones_go() -> None:
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=SHORT)).run(900, until=healthy)
    revisions = []
    for digit in "3456":
        operator.edit(rollout_spec(V1.replace("1" * 64, digit * 64), strategy=SHORT))
        operator.run(1200, until=healthy)
        revisions.append(revision_of(operator.spec))
    operator.run(60)
    assert operator.world.replicas == dict(zip(revisions, (0, 0, 0, 4), strict=True))
    assert set(operator.world.frozen) == set(revisions)
