"""What one pass decides from, with the questions that several checks ask of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypedDict, Unpack

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.strategy import ProbeStep, ResolvedStep
from chaffinch.domain.capacity import attempt_replicas, pods_up_to_step
from chaffinch.domain.intent import is_in_force
from chaffinch.domain.machine.failures import Failure, failure_of
from chaffinch.domain.machine.types import Next, WriteOrder
from chaffinch.domain.names import step_probe_name
from chaffinch.domain.observation import Observation, Pod, ProbeSeen, RevisionSeen
from chaffinch.domain.route import Decision
from chaffinch.domain.state import Candidate, Hold, Pause, RolloutState, StepState, WarmUp
from chaffinch.domain.timing import Timing
from chaffinch.domain.verdict import Judgement
from chaffinch.domain.wording import clip


class CandidateChanges(TypedDict, total=False):
    """What checks change of a candidate; see :class:`~chaffinch.domain.state.Candidate`."""

    deadline: datetime | None
    warm_up: WarmUp | None
    step: StepState | None
    weight: int
    decision: Decision | None
    paused: Pause | None


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that one pass decides from.

    Attributes:
        spec: The rollout's spec as it is now.
        revision: The revision that the spec stands for.
        state: What is remembered.
        seen: What was observed.
        judgement: The verdict on the step, if there is something to judge.
        now: The time.
        timing: Deadlines and intervals.
    """

    spec: InferenceRolloutSpec
    revision: str
    state: RolloutState
    seen: Observation
    judgement: Judgement | None
    now: datetime
    timing: Timing

    @property
    def candidate(self) -> Candidate:
        """The candidate; every stage but Idle has one."""
        candidate = self.state.candidate
        if candidate is None:
            raise ValueError(f"a rollout in stage {self.state.stage} must have a candidate")
        return candidate

    @property
    def step_state(self) -> StepState:
        """The step that the attempt is in; the stage Stepping always has one."""
        step = self.candidate.step
        if step is None:
            raise ValueError("a rollout in stage Stepping must be in a step")
        return step

    @property
    def step(self) -> ResolvedStep:
        """What that step asks for."""
        return self.candidate.plan.steps[self.step_state.index]

    @property
    def step_as_judged(self) -> StepState:
        """The step with what the judge remembers by now: no look at evidence may be taken twice."""
        step, judgement = self.step_state, self.judgement
        return step if judgement is None else replace(step, judge=judgement.state)

    @property
    def runs(self) -> tuple[ProbeSeen, ...]:
        """The runs of the step's load probe since a person had it run again; of another step none."""
        candidate, step, rollout = self.candidate, self.step_state, self.seen.rollout.name
        if not isinstance(self.step, ProbeStep):
            return ()
        names = [
            step_probe_name(rollout, candidate.revision, candidate.attempt, step.index, run)
            for run in range(step.runs_before + 1, step.run + 1)
        ]
        return tuple(probe for name in names if (probe := self.seen.probe(name)) is not None)

    @property
    def children(self) -> RevisionSeen:
        """The candidate's children."""
        return self.seen.revision(self.candidate.revision)

    @property
    def failure(self) -> Failure | None:
        """Why the candidate's pods cannot work, if that need not be waited for."""
        return failure_of(self.children, self.candidate.started_at, self.now, self.timing)

    @property
    def serving(self) -> tuple[Pod, ...]:
        """The candidate's pods that are warm and Ready."""
        warm = {(pod.name, pod.restarts) for pod in self.candidate.warmed}
        return tuple(pod for pod in self.children.pods if pod.serves and (pod.name, pod.restarts) in warm)

    @property
    def stable_serving(self) -> tuple[Pod, ...]:
        """Stable's pods that are Ready."""
        stable = self.state.stable
        pods = () if stable is None else self.seen.revision(stable.revision).pods
        return tuple(pod for pod in pods if pod.serves)

    @property
    def stable_serves(self) -> bool:
        """Whether stable has a Ready endpoint."""
        return bool(self.stable_serving)

    @property
    def rolls_back(self) -> bool:
        """Whether the candidate is being taken out."""
        return self.state.stage is RolloutStage.ROLLING_BACK

    @property
    def is_paused(self) -> bool:
        """Whether the candidate stays where it is until a person says otherwise."""
        return self.candidate.paused is not None

    @property
    def in_force(self) -> bool:
        """Whether all Ready routers route as the state asks."""
        return is_in_force(self.spec, self.state, self.seen)

    def pods_needed(self, index: int) -> int:
        """Return how many warm candidate pods the steps up to ``index`` need."""
        replicas = attempt_replicas(self.spec, self.state, self.seen)
        return pods_up_to_step(self.candidate, index, replicas)

    def after(self, seconds: float) -> datetime:
        """Return the moment that is so many seconds from now."""
        return self.now + timedelta(seconds=seconds)

    def with_candidate(self, **changes: Unpack[CandidateChanges]) -> RolloutState:
        """Return the state with changes to its candidate."""
        return replace(self.state, candidate=replace(self.candidate, **changes))

    def wait(self, state: RolloutState | None = None) -> Next:
        """Go on as it is; look again soon."""
        return Next(state or self.state, requeue_after=self.timing.active)

    def at_once(self, state: RolloutState, order: WriteOrder = WriteOrder.STATUS_FIRST) -> Next:
        """Move on; look again as soon as this has been written."""
        return Next(state, order=order, requeue_after=0)

    def held(self, state: RolloutState, reason: str, message: str, deadline: datetime | None) -> Next:
        """Hold for a reason. Since when stays as it was if the reason is the same, and so does a deadline."""
        hold = self.state.hold
        if hold is not None and hold.reason == reason:
            hold = replace(hold, message=clip(message), deadline=hold.deadline or deadline)
        else:
            hold = Hold(reason, self.now, deadline, clip(message))
        return self.wait(replace(state, hold=hold))


Check = Callable[[Situation], Next | None]
"""A check is named after the situation it finds; it returns None if that is not the case."""


def first(checks: Sequence[Check], situation: Situation) -> Next:
    """Return what the first check that applies makes of a situation; if none does, go on."""
    for check in checks:
        found = check(situation)
        if found is not None:
            return found
    return situation.wait()
