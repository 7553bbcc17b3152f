"""What one pass decides, as one value: the state machine's functions called in their order. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chaffinch.api.v1alpha1.parse import InvalidSpec
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.status import RolloutStatus
from chaffinch.api.v1alpha1.strategy import ProbeStep, strategy_of
from chaffinch.domain import machine
from chaffinch.domain.conditions.view import View
from chaffinch.domain.desired import Desired, desired
from chaffinch.domain.machine import Next
from chaffinch.domain.observation import Observation
from chaffinch.domain.plan import baseline_name_of
from chaffinch.domain.revision import revision_of
from chaffinch.domain.rollout_status import invalid_spec_status, status_of
from chaffinch.domain.state import Candidate, RolloutState
from chaffinch.domain.timing import Timing
from chaffinch.domain.verdict import Judgement
from chaffinch.runtime.baseline_reading import Comparison


@dataclass(frozen=True, slots=True)
class Question:
    """What a pass starts from.

    Attributes:
        spec: The spec; while the one that is written breaks a rule, the last one that did not.
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
    view = View(spec, outcome.state, seen, judgement, now, acts=outcome.act)
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


def comparison_of(spec: InferenceRolloutSpec, state: RolloutState) -> Comparison | None:
    """Return which baseline is to be read, and what it is to be compared with; None if none is named.

    While an attempt runs it is held to the baseline that it began with, whatever the spec says by now.
    """
    candidate = state.candidate
    if candidate is None:
        name, revision = baseline_name_of(spec), revision_of(spec)
    else:
        pinned = candidate.plan.baseline
        name, revision = pinned.name if pinned else None, candidate.revision
    return None if name is None else Comparison(name, revision, _profile(spec, candidate))


def _profile(spec: InferenceRolloutSpec, candidate: Candidate | None) -> str | None:
    steps = candidate.plan.steps if candidate else strategy_of(spec).steps
    if candidate is not None and candidate.step is not None:
        current = steps[candidate.step.index]
        if isinstance(current, ProbeStep):
            return current.profile
    return next((step.profile for step in steps if isinstance(step, ProbeStep)), None)
