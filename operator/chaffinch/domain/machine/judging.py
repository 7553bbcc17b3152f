"""Asks the judge about the step that an attempt is in.

The question of which requests count is answered here, before they are read: those of this attempt, since
the routers acknowledged the step's weight. The judge's plan follows from the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.api.v1alpha1.strategy import ApprovalStep, BakeStep, CanaryStep, ProbeStep, ResolvedStep
from chaffinch.domain.evidence import ArmEvidence, Evidence, NoEvidence, Problem
from chaffinch.domain.gates import bake_gates, canary_gates, probe_gates
from chaffinch.domain.machine.types import EvidenceQuestion
from chaffinch.domain.names import step_probe_name
from chaffinch.domain.observation import BaselineSeen, Observation, ProbeSeen
from chaffinch.domain.state import Candidate, RolloutState, StepState
from chaffinch.domain.verdict import Judgement, Level, Plan
from chaffinch.domain.verdict.judge import judge

SHORTEST_MAX_WAIT = timedelta(minutes=30)
NEVER = datetime.max.replace(tzinfo=UTC)
"""When a person is waited for no longer."""
NOTICED_WITHIN = timedelta(minutes=5)
"""How long after its deadline the end of a load probe may take to be seen."""
PROBE_STANDS_FOR = timedelta(hours=24)
"""How long the result of a probe may be judged from."""


def evidence_needed(state: RolloutState, now: datetime) -> EvidenceQuestion | None:
    """Return which requests have to be counted for this pass; None if none have to be.

    Args:
        state: What is remembered.
        now: The time.
    """
    candidate = state.candidate
    if state.stage is not RolloutStage.STEPPING or candidate is None or candidate.step is None:
        return None
    step = candidate.plan.steps[candidate.step.index]
    since = candidate.step.acknowledged_at
    if since is None or isinstance(step, ProbeStep) or candidate.weight == 0:
        return None
    stable = state.stable.revision if state.stable and not isinstance(step, BakeStep) else None
    return EvidenceQuestion(candidate.revision, stable, candidate.attempt, since, now)


def assess(state: RolloutState, seen: Observation, now: datetime) -> Judgement | None:
    """Judge the step that an attempt is in.

    Args:
        state: What is remembered.
        seen: What was observed, with the answer to :func:`evidence_needed`.
        now: The time.

    Returns:
        None if nothing is to be judged: no step, a weight that is 0 or not acknowledged yet, a probe that
        runs.
    """
    candidate = state.candidate
    if state.stage is not RolloutStage.STEPPING or candidate is None or candidate.step is None:
        return None
    step = candidate.plan.steps[candidate.step.index]
    evidence = _evidence(candidate, candidate.step, step, seen)
    if evidence is None or candidate.step.acknowledged_at is None:
        return None
    plan = plan_of_step(candidate, step, candidate.step.acknowledged_at, candidate.step.entered_at)
    return judge(plan, evidence, baseline_evidence(candidate, seen.baseline), candidate.step.judge, now)


def plan_of_step(candidate: Candidate, step: ResolvedStep, since: datetime, entered: datetime) -> Plan:
    """Return what a step has to show.

    Args:
        candidate: The candidate, with its frozen objectives.
        step: One of its steps that is judged: probe, canary, approval or bake.
        since: When the step's clock started.
        entered: When the step was entered first: its clock may start anew, what it may take in all does not.
    """
    objectives = candidate.plan.objectives
    if isinstance(step, ProbeStep):
        gates = probe_gates(objectives, with_baseline=candidate.plan.baseline is not None)
        deadline = since + SHORTEST_MAX_WAIT
        return Plan(gates, Level.PROVEN, since, deadline, staleness=PROBE_STANDS_FOR, final=True)
    end = earliest_end(step, since)
    deadline = max(end, latest_end(step, entered))
    if isinstance(step, CanaryStep):
        return Plan(canary_gates(objectives), Level(step.require.value), end, deadline)
    if isinstance(step, ApprovalStep):
        return Plan(canary_gates(objectives), Level.NO_HARM, end, deadline)
    return Plan(bake_gates(objectives), Level.PROVEN, end, deadline)


def earliest_end(step: ResolvedStep, since: datetime) -> datetime:
    """Return when a step's minimum time is over."""
    seconds = step.for_seconds if isinstance(step, CanaryStep | BakeStep) else 0
    return since + timedelta(seconds=seconds)


def latest_end(step: ResolvedStep, entered: datetime, runs: Sequence[ProbeSeen] = ()) -> datetime:
    """Return when a step that was entered then has waited for evidence long enough (``maxWait``).

    Args:
        step: The step.
        entered: When it was entered first.
        runs: The runs of its load probe, if it is a probe step: load takes the time that its profile gives
            it, and what follows it begins when it has ended.
    """
    if isinstance(step, ApprovalStep):
        return NEVER
    if isinstance(step, CanaryStep):
        return entered + timedelta(seconds=step.max_wait_seconds)
    if isinstance(step, BakeStep):
        return entered + max(SHORTEST_MAX_WAIT, timedelta(seconds=6 * step.for_seconds))
    return max([entered + SHORTEST_MAX_WAIT, *(end for run in runs if (end := _waited_for_until(run)))])


def _waited_for_until(run: ProbeSeen) -> datetime | None:
    if run.finished_at is not None:
        return run.finished_at + SHORTEST_MAX_WAIT
    return None if run.deadline is None else run.deadline + NOTICED_WITHIN


def baseline_evidence(candidate: Candidate, seen: BaselineSeen | None) -> ArmEvidence | NoEvidence | None:
    """Return the frozen measurement that a probe is compared with, or why it cannot be."""
    frozen = candidate.plan.baseline
    if frozen is None:
        return None
    if seen is None or not seen.found:
        return NoEvidence(Problem.NO_DATA, f"baseline {frozen.name} does not exist")
    if frozen.digest and (seen.uid, seen.digest) != (frozen.uid, frozen.digest):
        return NoEvidence(
            Problem.NOT_COMPARABLE, f"baseline {frozen.name} is not the one that the attempt began with"
        )
    if seen.problem is not None or seen.gate is None:
        return NoEvidence(
            Problem.NOT_COMPARABLE, seen.detail or f"baseline {frozen.name} cannot be compared with"
        )
    return seen.gate


def _evidence(
    candidate: Candidate, at: StepState, step: ResolvedStep, seen: Observation
) -> Evidence | NoEvidence | None:
    if not isinstance(step, ProbeStep):
        return seen.evidence
    name = step_probe_name(seen.rollout.name, candidate.revision, candidate.attempt, at.index, at.run)
    probe = seen.probe(name)
    if probe is None or probe.phase is not ProbePhase.SUCCEEDED or probe.result is None:
        return None
    if isinstance(probe.result, NoEvidence):
        return probe.result
    return Evidence(probe.result, None, probe.finished_at or at.entered_at)
