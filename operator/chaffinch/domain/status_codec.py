"""Reads the state machine's memory out of a status, and writes it there, without loss.

The memory is spread over the fields that people read; only the frozen plan and the judge's memory are
texts of their own. A status that doesn't hold together (edited by hand, written by a version that
knew more) is treated as lost: who is stable is then read from the router's route, and nothing is guessed.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from pydantic import TypeAdapter, ValidationError

from chaffinch.api.v1alpha1.attempt_status import (
    BaselineStatus,
    DecisionKind,
    DecisionStatus,
    RolloutProgress,
    RolloutStage,
    WarmUpStatus,
)
from chaffinch.api.v1alpha1.attempt_status import LastAttempt as LastAttemptStatus
from chaffinch.api.v1alpha1.attempt_status import WarmPod as WarmPodStatus
from chaffinch.api.v1alpha1.command import LastCommand
from chaffinch.api.v1alpha1.rollout import Capacity, Objective, OnFailure
from chaffinch.api.v1alpha1.status import RolloutStatus
from chaffinch.api.v1alpha1.step_status import HoldStatus, PauseStatus, StepStatus
from chaffinch.api.v1alpha1.strategy import (
    ApprovalStep,
    BakeStep,
    CanaryStep,
    ProbeStep,
    ResolvedStep,
    Strategy,
    WarmUpStep,
)
from chaffinch.api.v1alpha1.surroundings import PodStormStatus, RouterEditsStatus
from chaffinch.domain.commands import AnsweredCommand
from chaffinch.domain.plan import AttemptPlan, FrozenBaseline
from chaffinch.domain.route import Decision
from chaffinch.domain.state import (
    COMMANDED,
    Candidate,
    Hold,
    LastAttempt,
    Pause,
    PodStorm,
    RolloutState,
    RouterEdits,
    StableRevision,
    StepState,
    WarmPod,
    WarmUp,
)
from chaffinch.domain.verdict import JudgeState

_STEPS: dict[str, type[ResolvedStep]] = {
    "warmUp": WarmUpStep,
    "probe": ProbeStep,
    "canary": CanaryStep,
    "approval": ApprovalStep,
    "bake": BakeStep,
}
_ADAPTERS: dict[str, TypeAdapter[ResolvedStep]] = {tag: TypeAdapter(kind) for tag, kind in _STEPS.items()}


def state_of(status: RolloutStatus | None) -> RolloutState:
    """Return what a status remembers; of no status, or of one that doesn't hold together, nothing."""
    if status is None:
        return RolloutState()
    try:
        return _state(status)
    except (ValueError, KeyError, TypeError):
        return RolloutState()


def _state(status: RolloutStatus) -> RolloutState:
    progress, stable, last = status.rollout, status.stable, status.last_attempt
    return RolloutState(
        stage=progress.stage if progress else RolloutStage.IDLE,
        stable=StableRevision(stable.revision, stable.since) if stable else None,
        candidate=_candidate(status),
        attempts=status.attempts or 0,
        hold=_hold(progress.hold) if progress and progress.hold else None,
        last_attempt=_last_attempt(last) if last else None,
        last_command=_last_command(status.last_command) if status.last_command else None,
        failed=status.failed_revisions,
        sequence=status.traffic.sequence if status.traffic else 0,
        router_edits=_router_edits(status.router_edits) if status.router_edits else None,
        storms=tuple(_storm(each) for each in status.pod_storms),
    )


def _candidate(status: RolloutStatus) -> Candidate | None:
    candidate, progress = status.candidate, status.rollout
    if candidate is None and progress is None:
        return None
    if candidate is None or progress is None or progress.plan is None:
        raise ValueError("a candidate needs its attempt, and an attempt its candidate and plan")
    weight = status.traffic.weight if status.traffic else None
    plan = plan_from_json(progress.plan, status.baseline)
    step = _step(progress.step, len(plan.steps)) if progress.step else None
    if progress.stage is RolloutStage.STEPPING and step is None:
        raise ValueError("the stage Stepping needs a step")
    return Candidate(
        revision=candidate.revision,
        attempt=candidate.attempt,
        started_at=progress.started_at,
        deadline=progress.deadline,
        plan=plan,
        warmed=_pods(candidate.warm),
        warm_up=_warm_up(candidate.warm_up) if candidate.warm_up else None,
        warm_ups=candidate.warm_ups or 0,
        step=step,
        weight=weight.desired if weight else 0,
        decision=_decision(progress.decision),
        paused=_paused(progress.paused) if progress.paused else None,
    )


def _warm_up(warm_up: WarmUpStatus) -> WarmUp:
    return WarmUp(warm_up.serial, _pods(warm_up.pods), warm_up.failures or 0)


def _pods(pods: tuple[WarmPodStatus, ...]) -> tuple[WarmPod, ...]:
    return tuple(WarmPod(pod.name, pod.restarts) for pod in pods)


def _step(step: StepStatus, steps: int) -> StepState:
    if step.index >= steps:
        raise ValueError("a step must be one of the plan's")
    return StepState(
        index=step.index,
        entered_at=step.entered_at,
        acknowledged_at=step.acknowledged_at,
        passed_at=step.passed_at,
        run=step.run or 1,
        runs_before=step.runs_before or 0,
        judge=JudgeState.from_json(json.loads(step.judge) if step.judge else None),
        restarted_at=step.restarted_at,
    )


def _hold(hold: HoldStatus) -> Hold:
    return Hold(hold.reason, hold.since, hold.deadline, hold.message or "")


def _decision(decision: DecisionStatus | None) -> Decision | None:
    """Return how the attempt ends; a decision to pause it is remembered as the pause."""
    if decision is None or decision.kind is DecisionKind.PAUSE:
        return None
    return Decision(decision.kind, decision.cause, decision.at, decision.message or "", decision.command)


def _paused(paused: PauseStatus) -> Pause:
    return Pause(paused.since, paused.cause, paused.by, paused.message)


def _last_command(last: LastCommand) -> AnsweredCommand:
    return AnsweredCommand(
        name=last.name,
        uid=last.uid,
        action=last.action,
        revision=last.revision,
        by=last.by,
        note=last.note,
        at=last.at,
        outcome=last.outcome,
        reason=last.reason,
        message=last.message,
    )


def _last_attempt(last: LastAttemptStatus) -> LastAttempt:
    return LastAttempt(
        revision=last.revision,
        attempt=last.attempt,
        outcome=last.outcome,
        cause=last.cause,
        ended_at=last.at,
        message=last.message,
        decided_at=last.decided_at,
        again_at=last.again_at,
    )


def _router_edits(edits: RouterEditsStatus) -> RouterEdits:
    return RouterEdits(edits.count, edits.at, edits.object, edits.by, edits.fight_since)


def _storm(storm: PodStormStatus) -> PodStorm:
    return PodStorm(storm.revision, storm.since, storm.turned_away, storm.tries, storm.again_at)


def step_status(candidate: Candidate, step: StepState, name: str) -> StepStatus:
    """Return what a status remembers of the step that a candidate is in; figures for people come on top."""
    judge = step.judge.to_json()
    return StepStatus(
        name=name,
        index=step.index,
        of=len(candidate.plan.steps),
        entered_at=step.entered_at,
        acknowledged_at=step.acknowledged_at,
        passed_at=step.passed_at,
        restarted_at=step.restarted_at,
        run=step.run if step.run > 1 else None,
        runs_before=step.runs_before or None,
        judge=json.dumps(judge, sort_keys=True, separators=(",", ":")) if judge else None,
    )


def progress_status(state: RolloutState, candidate: Candidate, step: StepStatus | None) -> RolloutProgress:
    """Return what a status remembers of a running attempt."""
    hold, paused = state.hold, candidate.paused
    return RolloutProgress(
        id=f"{candidate.revision}-a{candidate.attempt}",
        stage=state.stage,
        started_at=candidate.started_at,
        deadline=candidate.deadline,
        step=step,
        hold=HoldStatus(reason=hold.reason, since=hold.since, deadline=hold.deadline, message=hold.message)
        if hold
        else None,
        paused=PauseStatus(since=paused.since, cause=paused.cause, by=paused.by, message=paused.message)
        if paused
        else None,
        decision=_decision_status(candidate),
        plan=plan_to_json(candidate.plan),
    )


def _decision_status(candidate: Candidate) -> DecisionStatus | None:
    decision, paused = candidate.decision, candidate.paused
    if decision is not None:
        return DecisionStatus(**asdict(decision))
    if paused is None or paused.cause == COMMANDED:
        return None
    return DecisionStatus(
        kind=DecisionKind.PAUSE, cause=paused.cause, at=paused.since, message=paused.message
    )


def last_command_status(last: AnsweredCommand | None) -> LastCommand | None:
    """Return what a status remembers of the command that was answered last."""
    return None if last is None else LastCommand(**asdict(last))


def router_edits_status(edits: RouterEdits | None) -> RouterEditsStatus | None:
    """Return what a status remembers of changes that others made."""
    return None if edits is None else RouterEditsStatus(**asdict(edits))


def pod_storms_status(storms: tuple[PodStorm, ...]) -> tuple[PodStormStatus, ...]:
    """Return what a status remembers of storms of pods that nodes turn away."""
    return tuple(PodStormStatus(**asdict(each)) for each in storms)


def warm_pods_status(pods: tuple[WarmPod, ...]) -> tuple[WarmPodStatus, ...]:
    """Return warm pods as a status lists them."""
    return tuple(WarmPodStatus(name=pod.name, restarts=pod.restarts) for pod in pods)


def plan_to_json(plan: AttemptPlan) -> str:
    """Write the objectives and the strategy of a plan as canonical JSON."""
    strategy = plan.strategy
    content = {
        "objectives": [
            each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in plan.objectives
        ],
        "capacity": strategy.capacity,
        "progressDeadlineSeconds": strategy.progress_deadline_seconds,
        "steps": [{_tag(step): asdict(step)} for step in plan.steps],
        "baseline": plan.baseline.name if plan.baseline else None,
        "onFailure": plan.on_failure,
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plan_from_json(text: str, baseline: BaselineStatus | None) -> AttemptPlan:
    """Read what :func:`plan_to_json` wrote.

    Args:
        text: The JSON.
        baseline: The baseline that the attempt is pinned to, which the status keeps beside the plan.

    Raises:
        ValueError: If the text is anything else.
    """
    content = json.loads(text)
    name = content["baseline"]
    frozen = None
    if name is not None:
        pinned = baseline if baseline is not None and baseline.name == name else None
        frozen = FrozenBaseline(name, pinned.uid, pinned.digest) if pinned else FrozenBaseline(name)
    return AttemptPlan(
        objectives=tuple(Objective.model_validate(each) for each in content["objectives"]),
        strategy=Strategy(
            capacity=Capacity(content["capacity"]),
            progress_deadline_seconds=int(content["progressDeadlineSeconds"]),
            steps=tuple(_resolved(each) for each in content["steps"]),
        ),
        baseline=frozen,
        on_failure=OnFailure(content["onFailure"]),
    )


def _tag(step: ResolvedStep) -> str:
    return next(tag for tag, kind in _STEPS.items() if type(step) is kind)


def _resolved(step: dict[str, object]) -> ResolvedStep:
    ((tag, fields),) = step.items()
    try:
        return _ADAPTERS[tag].validate_python(fields)
    except ValidationError:
        raise ValueError(f"a step of kind {tag} lacks a field") from None
