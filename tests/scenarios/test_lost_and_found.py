"""A lost status, and a crash before every single write of a rollout."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import pairwise

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.evidence import Problem
from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, in_stage, rolled_back, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import SHORT, V2, rollout_spec
from scenarios.world import World


def test_a_lost_status_is_rebuilt_from_the_route() -> None:
    operator = serving_v1()
    stable, made = operator.state.stable, operator.world.made.copy()
    operator.status = None
    operator.run(10, until=healthy)
    assert stable is not None
    assert operator.state.stable is not None
    assert operator.state.stable.revision == stable.revision
    assert operator.world.made == made


def test_an_attempt_whose_status_was_lost_is_taken_out_and_tried_again() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    operator.status = None
    operator.run(900, until=healthy)
    assert operator.state.attempts == 3
    assert_quiet(operator)


def test_a_promotion_whose_status_was_lost_goes_on() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("bake"))
    operator.run(120, until=lambda op: op.state.stage is RolloutStage.PROMOTING)
    operator.pass_once()
    operator.status = None
    operator.run(60, until=healthy)
    assert operator.state.attempts == 2


def warm_ups(operator: Operator) -> list[str]:
    return [name for name in operator.world.made if "-w" in name and revision_of(operator.spec) in name]


def test_pods_that_come_after_the_status_of_a_promotion_was_lost_are_warmed_before_they_get_traffic() -> None:
    operator = rolling_out(Behaviour(starts_in=30)).run(900, until=at_step("canary-5"))
    operator.command("Promote")
    operator.run(5, until=in_stage(RolloutStage.PROMOTING))
    operator.run(3)
    operator.status = None
    operator.run(120, until=healthy)  # the oracle refuses a route that admits a cold pod
    assert len(warm_ups(operator)) == 2
    assert operator.state.attempts == 2


def test_pods_that_come_after_the_status_of_the_first_revision_was_lost_are_warmed_too() -> None:
    operator = Operator(World(room=2), rollout_spec())
    operator.run(60, until=lambda op: bool(op.state.candidate and op.state.candidate.warmed))
    operator.status = None
    operator.world.make_room()
    operator.run(120, until=healthy)
    assert len(warm_ups(operator)) == 2


def test_a_lost_status_without_a_route_is_never_taken_for_a_new_rollout() -> None:
    operator = serving_v1()
    operator.status, operator.world.route = None, None
    before = dict(operator.world.replicas)
    operator.edit(rollout_spec(V2))
    operator.run(60)
    assert operator.condition("Stalled") == ("True", "StatusLost")
    assert operator.world.replicas == before


@dataclass(frozen=True)
class End:
    """How a story ended, in everything that must not depend on when the operator crashed."""

    stable: str | None
    outcome: str | None
    cause: str | None
    failed: tuple[str, ...]
    replicas: dict[str, int]
    arms: object
    objects: frozenset[str]


def end_of(operator: Operator) -> End:
    state, last = operator.state, operator.state.last_attempt
    assert operator.world.route is not None
    return End(
        stable=state.stable.revision if state.stable else None,
        outcome=last.outcome if last else None,
        cause=last.cause if last else None,
        failed=state.failed,
        replicas=dict(operator.world.replicas),
        arms=operator.world.route.intent.arms,
        objects=frozenset(operator.world.made),
    )


def first_deployment(crash_before: int | None) -> Operator:
    operator = Operator(World(), rollout_spec(strategy=SHORT), crash_before=crash_before)
    return operator.run(120, until=healthy).run(60)


def second_version(stage: Operator, behaviour: Behaviour, crash_before: int | None) -> Operator:
    operator = copy.deepcopy(stage)
    operator.log, operator.crash_before = [], crash_before
    spec = rollout_spec(V2, strategy=SHORT)
    operator.world.behaviours[revision_of(spec)] = behaviour
    operator.edit(spec)
    operator.run(600, until=lambda op: healthy(op) or rolled_back(op))
    return operator.run(60)


def test_a_crash_before_any_write_of_the_first_deployment_changes_nothing_about_the_end() -> None:
    reference = first_deployment(None)
    assert reference.writes > 10
    for k in range(1, reference.writes + 1):
        assert end_of(first_deployment(k)) == end_of(reference), f"crash before write {k}"


def test_a_first_revision_that_serves_keeps_serving_though_the_status_missed_it() -> None:
    log = first_deployment(None).log
    missed = max(i for i, (write, after) in enumerate(pairwise(log)) if (write, after) == ("route", "status"))
    operator = Operator(World(), rollout_spec(strategy=SHORT), crash_before=missed + 2)
    operator.run(60, until=lambda op: op.crash_before is None)
    assert operator.state.stable is None
    operator.world.lose_pods(revision_of(operator.spec), 1)
    operator.run(60, until=healthy)


def test_a_rollback_that_the_status_missed_is_carried_on_without_asking_again() -> None:
    spec = rollout_spec(V2, strategy=SHORT)
    reference = rolling_out(Behaviour(errors=0.10), spec)
    operator = copy.deepcopy(reference)
    reference.run(600, until=in_stage(RolloutStage.ROLLING_BACK))
    operator.crash_before = reference.writes  # the status, written after the route
    operator.run(600, until=lambda op: op.crash_before is None)
    assert operator.state.stage is RolloutStage.STEPPING
    operator.world.evidence_problem = Problem.UNAVAILABLE
    operator.run(30, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "ObjectiveFailed"


@pytest.mark.parametrize("behaviour", [Behaviour(), Behaviour(errors=0.10)], ids=["promoted", "rolled back"])
def test_a_crash_before_any_write_changes_nothing_about_the_end(behaviour: Behaviour) -> None:
    stage = first_deployment(None)
    reference = second_version(stage, behaviour, None)
    assert reference.writes > 20
    for k in range(1, reference.writes + 1):
        assert end_of(second_version(stage, behaviour, k)) == end_of(reference), f"crash before write {k}"
