"""How stories begin and end: predicates and short cuts that several of them share."""

from __future__ import annotations

from collections.abc import Callable

from chaffinch.api.v1alpha1.attempt_status import Outcome, RolloutStage
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.domain.revision import revision_of
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import V2, rollout_spec
from scenarios.world import World

QUIET_PASSES = 120


def healthy(operator: Operator) -> bool:
    """Whether the spec's revision serves and nothing is under way."""
    return (
        operator.status is not None
        and operator.status.observed_generation == operator.generation
        and operator.condition("Ready") == ("True", "Promoted")
        and operator.condition("Reconciling") == ("False", "AsExpected")
    )


def rolled_back(operator: Operator) -> bool:
    """Whether the last attempt has ended with a rollback."""
    last = operator.state.last_attempt
    return operator.state.candidate is None and last is not None and last.outcome is Outcome.ROLLED_BACK


def at_step(name: str) -> Callable[[Operator], bool]:
    """Return whether the clock of a step runs."""

    def reached(operator: Operator) -> bool:
        candidate = operator.state.candidate
        if candidate is None or candidate.step is None or candidate.step.acknowledged_at is None:
            return False
        return candidate.plan.steps[candidate.step.index].name == name

    return reached


def in_stage(stage: RolloutStage) -> Callable[[Operator], bool]:
    """Return whether a stage is reached."""
    return lambda operator: operator.state.stage is stage


def serving_v1(spec: InferenceRolloutSpec | None = None) -> Operator:
    """Return an operator whose first revision has been serving for a while."""
    operator = Operator(World(), spec or rollout_spec())
    return operator.run(90, until=healthy)


def rolling_out(behaviour: Behaviour, spec: InferenceRolloutSpec | None = None) -> Operator:
    """Return an operator that has just been given a second version which behaves like this."""
    operator = serving_v1(None)
    second = spec or rollout_spec(V2)
    operator.world.behaviours[revision_of(second)] = behaviour
    operator.edit(second)
    return operator


def assert_quiet(operator: Operator) -> None:
    """Check that nothing more is written (I8)."""
    operator.run(60)
    before = operator.writes
    operator.run(QUIET_PASSES)
    assert operator.writes == before, f"writes go on: {operator.story()}"
