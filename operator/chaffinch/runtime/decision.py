"""What one pass decides, as one value: the state machine's functions called in their order. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chaffinch.api.v1alpha1.parse import InvalidSpec
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.status import RolloutStatus
from chaffinch.api.v1alpha1.strategy import ProbeStep, ResolvedStep, strategy_of
from chaffinch.domain import machine
from chaffinch.domain.conditions.view import View
from chaffinch.domain.desired import Desired, desired
from chaffinch.domain.machine import Next
from chaffinch.domain.observation import Observation
from chaffinch.domain.plan import baseline_name_of
from chaffinch.domain.revision import revision_of
from chaffinch.domain.rollout_status import invalid_spec_status, status_of
from chaffinch.domain.router_edits import left_alone, route_object
from chaffinch.domain.state import Candidate, RolloutState
from chaffinch.domain.timing import Timing
from chaffinch.domain.verdict import Judgement
from chaffinch.runtime.baseline_reading import Comparison


@dataclass(frozen=True, slots=True)
class Question:
    """What a pass starts from.

    Attributes:
        spec: The spec; while the one that is written breaks a rule, that of the attempt.
        generation: The generation of the one that is written.
        previous: The stored status.
        state: What it remembers.
        now: The time.
        broken: The rule that the written spec breaks, if so.
    """

    spec: InferenceRolloutSpec
    generation: int
    previous: RolloutStatus | None
    state: RolloutState
    now: datetime
    broken: InvalidSpec | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What it comes to.

    Attributes:
        judgement: The verdict on the step, if there was one to reach.
        next: The next state, and how to get there.
        wanted: What should be.
        status: The status to record, not yet signed by a writer.
    """

    judgement: Judgement | None
    next: Next
    wanted: Desired
    status: RolloutStatus


def decide(question: Question, seen: Observation, timing: Timing) -> Answer:
    """Decide from what was seen.

    Args:
        question: What the pass starts from.
        seen: What was observed, evidence included.
        timing: Deadlines and intervals.
    """
    spec, state, now = question.spec, question.state, question.now
    judgement = machine.assess(state, seen, now)
    outcome = machine.step(spec, state, seen, judgement, now, timing=timing)
    writes_route = outcome.act and route_object(seen.rollout) not in left_alone(seen, mends=outcome.mends)
    view = View(spec, outcome.state, seen, judgement, now, acts=writes_route)
    return Answer(
        judgement=judgement,
        next=outcome,
        wanted=desired(spec, outcome.state, seen, now, timing=timing),
        status=_status(question, view),
    )


def _status(question: Question, view: View) -> RolloutStatus:
    status, broken = status_of(view, question.generation, question.previous), question.broken
    if broken is None:
        return status
    return invalid_spec_status(
        broken.field_path, broken.message, question.generation, status, question.now, goes_on=True
    )


def comparison_of(spec: InferenceRolloutSpec | None, state: RolloutState) -> Comparison | None:
    """Return which baseline is to be read, and what it is to be compared with; None if none is named.

    While an attempt runs it is held to the baseline that it began with, whatever the spec says by now; a spec
    that breaks a rule (None) names none.
    """
    candidate = state.candidate
    if candidate is not None:
        pinned = candidate.plan.baseline
        return Comparison(pinned.name, candidate.revision, _profile(candidate)) if pinned else None
    name = None if spec is None else baseline_name_of(spec)
    if spec is None or name is None:
        return None
    return Comparison(name, revision_of(spec), _first_profile(strategy_of(spec).steps))


def _profile(candidate: Candidate) -> str | None:
    steps = candidate.plan.steps
    current = None if candidate.step is None else steps[candidate.step.index]
    return current.profile if isinstance(current, ProbeStep) else _first_profile(steps)


def _first_profile(steps: tuple[ResolvedStep, ...]) -> str | None:
    return next((step.profile for step in steps if isinstance(step, ProbeStep)), None)
