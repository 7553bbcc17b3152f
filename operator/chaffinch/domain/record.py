"""What is kept of an attempt, derived from the states that its passes go through. Pure.

A record is brought up to date by each pass from the states before and after it. All that it says follows
from those states and from what it says already, so that the same pass told twice changes nothing, and a
process that starts in the middle of an attempt goes on with the record that it finds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chaffinch.api.v1alpha1.attempt_status import BaselineStatus, Outcome
from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome
from chaffinch.api.v1alpha1.common import API_VERSION
from chaffinch.api.v1alpha1.names import record_name
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.record import (
    MAX_RECORDED_COMMANDS,
    MAX_RECORDED_HOLDS,
    RecordedCommand,
    RecordedHold,
    RecordedStep,
    RolloutRecordSpec,
    RolloutRecordStatus,
    StepKind,
)
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.step_status import ObjectiveStatus
from chaffinch.api.v1alpha1.strategy import (
    ApprovalStep,
    BakeStep,
    CanaryStep,
    ProbeStep,
    ResolvedStep,
    WarmUpStep,
)
from chaffinch.domain.capacity import weight_of_step
from chaffinch.domain.commands import AnsweredCommand
from chaffinch.domain.manifests.common import Manifest, metadata
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.objectives import StepClock, objectives_status
from chaffinch.domain.observation import Observation
from chaffinch.domain.revision import canonical, revision_of
from chaffinch.domain.state import Candidate, LastAttempt, RolloutState, StepState
from chaffinch.domain.status_codec import plan_to_json
from chaffinch.domain.verdict import Judgement

COMPONENT = "record"
KEPT_RECORDS = 10
"""So many records of a rollout are kept, the newest."""

_KINDS: dict[type[ResolvedStep], StepKind] = {
    WarmUpStep: StepKind.WARM_UP,
    ProbeStep: StepKind.PROBE,
    CanaryStep: StepKind.CANARY,
    ApprovalStep: StepKind.APPROVAL,
    BakeStep: StepKind.BAKE,
}


@dataclass(frozen=True, slots=True)
class Move:
    """What one pass did.

    Attributes:
        before: The state that it started from.
        after: The state that it came to.
        objectives: What it found about the objectives, each with its step; empty if it judged nothing.
        now: When.
    """

    before: RolloutState
    after: RolloutState
    objectives: tuple[ObjectiveStatus, ...]
    now: datetime


def record_spec(
    rollout: RolloutIdentity, candidate: Candidate, stable: str | None, frozen: Mapping[str, Any]
) -> RolloutRecordSpec:
    """Return what an attempt began with.

    Args:
        rollout: Whose attempt.
        candidate: The candidate, at any time of the attempt.
        stable: The revision that served when it began.
        frozen: The canonical form of what makes the revision.

    Raises:
        ValueError: If that is larger than a record takes.
    """
    return RolloutRecordSpec(
        rollout=rollout.name,
        rollout_uid=rollout.uid,
        revision=candidate.revision,
        attempt=candidate.attempt,
        stable=stable,
        started_at=candidate.started_at,
        frozen=json.dumps(frozen, sort_keys=True, separators=(",", ":"), allow_nan=False),
        plan=plan_to_json(candidate.plan),
    )


def record_manifest(rollout: RolloutIdentity, spec: RolloutRecordSpec) -> Manifest:
    """Return the RolloutRecord of an attempt, without its status."""
    name = record_name(rollout.name, spec.revision, attempt=spec.attempt)
    return {
        "apiVersion": API_VERSION,
        "kind": "RolloutRecord",
        "metadata": metadata(rollout, name, COMPONENT, spec.revision),
        "spec": spec.model_dump(mode="json", by_alias=True, exclude_none=True),
    }


def updated(spec: RolloutRecordSpec, status: RolloutRecordStatus, move: Move) -> RolloutRecordStatus:
    """Return what is to be kept of an attempt after a pass.

    Args:
        spec: Says which attempt it is; what the pass did in others is left out.
        status: What has been kept so far.
        move: What the pass did.
    """
    for state in (move.before, move.after):
        candidate = state.candidate
        if candidate is not None and candidate.attempt == spec.attempt:
            status = _with_state(status, state, candidate, move.now)
    judged = move.before.candidate
    if judged is not None and judged.attempt == spec.attempt:
        status = _with_objectives(status, move.objectives)
    last = move.after.last_attempt
    if last is not None and (last.attempt, last.revision) == (spec.attempt, spec.revision):
        status = _with_end(status, last)
    return _with_command(spec, status, move.after)


def with_unknown_end(status: RolloutRecordStatus, now: datetime) -> RolloutRecordStatus:
    """Return what is kept of an attempt that nobody remembers any more, and whose end no record tells."""
    return status.model_copy(
        update={
            "outcome": Outcome.UNKNOWN,
            "cause": Reason.STATUS_LOST,
            "message": "the rollout's status was lost before the end of the attempt was recorded",
            "ended_at": now,
            "holds": _holds(status.holds, (), now),
        }
    )


def frozen_form(
    spec: InferenceRolloutSpec, seen: Observation, candidate: Candidate
) -> Mapping[str, Any] | None:
    """Return the canonical form of what makes a candidate; None if nothing that is left tells it.

    It is in the candidate's ControllerRevision, which is made after the record; before that the spec
    still stands for the candidate.
    """
    frozen = seen.revision(candidate.revision).frozen
    if frozen is not None:
        return frozen.spec
    return canonical(spec) if revision_of(spec) == candidate.revision else None


def found_by(
    judgement: Judgement | None, state: RolloutState, now: datetime, stored: tuple[ObjectiveStatus, ...] = ()
) -> tuple[ObjectiveStatus, ...]:
    """Return what is known about the objectives, at the step that the state is in.

    Args:
        judgement: Of this pass; None if it judges nothing.
        state: What the pass started from.
        now: The time.
        stored: The figures in the status. Of a step that has passed, or at which the attempt was decided,
            they are those by which it was, which a process that died between the status and the record
            did not get to record.
    """
    candidate = state.candidate
    if candidate is None or candidate.step is None:
        return ()
    if judgement is None:
        is_over = candidate.step.passed_at is not None or candidate.decision is not None
        return stored if is_over else ()
    clock = StepClock(candidate.step.acknowledged_at, now)
    return objectives_status(judgement.verdicts, candidate.plan.steps[candidate.step.index].name, clock)


def is_news(before: RolloutRecordStatus, after: RolloutRecordStatus) -> bool:
    """Say whether anything but figures has changed: they alone are not worth a write each time."""
    return _without_figures(before) != _without_figures(after)


def _without_figures(status: RolloutRecordStatus) -> RolloutRecordStatus:
    steps = tuple(step.model_copy(update={"objectives": ()}) for step in status.steps)
    holds = tuple(hold.model_copy(update={"message": ""}) for hold in status.holds)
    return status.model_copy(update={"steps": steps, "holds": holds})


def _with_state(
    status: RolloutRecordStatus, state: RolloutState, candidate: Candidate, now: datetime
) -> RolloutRecordStatus:
    pinned, decision = candidate.plan.baseline, candidate.decision
    changes: dict[str, object] = {
        "baseline": pinned and BaselineStatus(name=pinned.name, uid=pinned.uid, digest=pinned.digest),
        "steps": _steps(status.steps, candidate),
        "holds": _holds(status.holds, _waits(state, candidate), now),
    }
    if decision is not None:
        changes |= {"cause": decision.cause, "message": decision.message, "decided_at": decision.at}
    return status.model_copy(update=changes)


def _steps(steps: tuple[RecordedStep, ...], candidate: Candidate) -> tuple[RecordedStep, ...]:
    at = candidate.step
    if at is None:
        return steps
    known = {step.index: step for step in steps}
    known[at.index] = _step(known.get(at.index), at, candidate.plan.steps[at.index])
    return tuple(known[index] for index in sorted(known))


def _step(before: RecordedStep | None, at: StepState, step: ResolvedStep) -> RecordedStep:
    restarts = (before.restarts or 0) if before else 0
    if at.restarted_at is not None and (before is None or before.restarted_at != at.restarted_at):
        restarts += 1
    return RecordedStep(
        name=step.name,
        kind=_KINDS[type(step)],
        index=at.index,
        weight=weight_of_step(step),
        entered_at=at.entered_at,
        acknowledged_at=at.acknowledged_at,
        passed_at=at.passed_at,
        restarts=restarts or None,
        restarted_at=at.restarted_at,
        objectives=before.objectives if before else (),
    )


def _waits(state: RolloutState, candidate: Candidate) -> tuple[RecordedHold, ...]:
    """Return why an attempt waits now: a hold, a pause, or both."""
    hold, paused, at = state.hold, candidate.paused, candidate.step
    step = None if at is None else candidate.plan.steps[at.index].name
    waits = []
    if hold is not None:
        waits.append(RecordedHold(reason=hold.reason, since=hold.since, step=step, message=hold.message))
    if paused is not None:
        waits.append(
            RecordedHold(reason=Reason.PAUSED, since=paused.since, step=step, message=paused.message)
        )
    return tuple(waits)


def _holds(
    holds: tuple[RecordedHold, ...], waits: tuple[RecordedHold, ...], now: datetime
) -> tuple[RecordedHold, ...]:
    """Return the holds with those ended that are over, and those added that are new."""
    current = {(wait.reason, wait.since): wait for wait in waits}
    kept = []
    for hold in holds:
        wait = current.pop((hold.reason, hold.since), None)
        if wait is not None:
            kept.append(hold.model_copy(update={"message": wait.message, "until": None}))
        else:
            kept.append(hold if hold.until else hold.model_copy(update={"until": now}))
    return (*kept, *current.values())[-MAX_RECORDED_HOLDS:]


def _with_objectives(
    status: RolloutRecordStatus, objectives: tuple[ObjectiveStatus, ...]
) -> RolloutRecordStatus:
    found = {step.name: tuple(each for each in objectives if each.step == step.name) for step in status.steps}
    steps = tuple(
        step.model_copy(update={"objectives": found[step.name] or step.objectives}) for step in status.steps
    )
    return status.model_copy(update={"steps": steps})


def _with_end(status: RolloutRecordStatus, last: LastAttempt) -> RolloutRecordStatus:
    return status.model_copy(
        update={
            "outcome": last.outcome,
            "cause": last.cause,
            "message": last.message,
            "decided_at": last.decided_at,
            "ended_at": last.ended_at,
            "holds": _holds(status.holds, (), last.ended_at),
        }
    )


def _with_command(
    spec: RolloutRecordSpec, status: RolloutRecordStatus, state: RolloutState
) -> RolloutRecordStatus:
    last = state.last_command
    if last is None or not _belongs(last, spec, status, state):
        return status
    if any((each.name, each.at) == (last.name, last.at) for each in status.commands):
        return status
    recorded = RecordedCommand(
        name=last.name,
        action=last.action,
        by=last.by,
        reason=last.note,
        at=last.at,
        outcome=last.outcome,
        message=last.message,
    )
    return status.model_copy(update={"commands": (*status.commands, recorded)[-MAX_RECORDED_COMMANDS:]})


def _belongs(
    last: AnsweredCommand, spec: RolloutRecordSpec, status: RolloutRecordStatus, state: RolloutState
) -> bool:
    """Say whether a command was given during an attempt, or is the one that had it started."""
    if status.ended_at is not None and last.at > status.ended_at:
        return False
    return last.at >= spec.started_at or _started(last, spec, state)


def _started(last: AnsweredCommand, spec: RolloutRecordSpec, state: RolloutState) -> bool:
    before = state.last_attempt
    done = (last.action, last.outcome) == (CommandAction.RETRY, CommandOutcome.ACCEPTED)
    return done and last.revision == spec.revision and (before is None or before.ended_at <= last.at)
