"""One step of the state machine: the stage's ordered checks, the first of which decides; then commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.domain.intent import highest_sequence
from chaffinch.domain.machine import (
    beginning,
    deploying,
    everywhere,
    idle,
    promoting,
    rolling_back,
    stepping,
)
from chaffinch.domain.machine.commanding import with_command
from chaffinch.domain.machine.fighting import with_router_edits
from chaffinch.domain.machine.situation import Check, Situation, first
from chaffinch.domain.machine.storming import with_next_try, with_pod_storms
from chaffinch.domain.machine.types import Next
from chaffinch.domain.machine.warming import with_warm_pods
from chaffinch.domain.observation import Observation
from chaffinch.domain.revision import revision_of
from chaffinch.domain.router_edits import may_mend
from chaffinch.domain.state import RolloutState
from chaffinch.domain.timing import Timing
from chaffinch.domain.verdict import Judgement

STAGES: Mapping[RolloutStage, Sequence[Check]] = {
    RolloutStage.IDLE: idle.CHECKS,
    RolloutStage.DEPLOYING: deploying.CHECKS,
    RolloutStage.STEPPING: stepping.CHECKS,
    RolloutStage.PROMOTING: promoting.CHECKS,
    RolloutStage.ROLLING_BACK: rolling_back.CHECKS,
}


def step(
    spec: InferenceRolloutSpec,
    state: RolloutState,
    seen: Observation,
    judgement: Judgement | None,
    now: datetime,
    *,
    timing: Timing | None = None,
) -> Next:
    """Decide what comes next.

    Args:
        spec: The rollout's spec, parsed.
        state: What is remembered.
        seen: What was observed in this pass.
        judgement: What :func:`~chaffinch.domain.machine.judging.assess` said of the step.
        now: The time, with a time zone.
        timing: Deadlines and intervals; the usual ones if None.
    """
    situation = Situation(spec, revision_of(spec), state, seen, judgement, now, timing or Timing())
    found = next((n for check in everywhere.CHECKS if (n := check(situation)) is not None), None)
    if found is not None:
        return found if seen.problems else with_command(situation, found)
    situation = replace(situation, state=replace(state, sequence=highest_sequence(state, seen)))
    situation = with_warm_pods(with_pod_storms(with_router_edits(situation)))
    following = with_next_try(with_command(situation, first(_checks(state), situation)), now)
    return replace(following, mends=may_mend(state.router_edits, now, situation.timing))


def _checks(state: RolloutState) -> Sequence[Check]:
    if state.is_empty:
        return beginning.CHECKS
    if state.stage is RolloutStage.DEPLOYING and state.stable is None:
        return deploying.CHECKS_OF_FIRST
    return STAGES[state.stage]
