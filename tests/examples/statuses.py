"""A status of each kind with every field filled, more than any real one has at once.

What an API server keeps of it, it keeps of every status that the operator writes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from chaffinch.api.v1alpha1.attempt_status import (
    BaselineStatus,
    CandidateStatus,
    DecisionKind,
    DecisionStatus,
    LastAttempt,
    Outcome,
    RolloutProgress,
    RolloutStage,
    WarmPod,
    WarmUpStatus,
)
from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome, LastCommand, RolloutCommandStatus
from chaffinch.api.v1alpha1.common import Condition, ConditionStatus, StatusModel
from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.api.v1alpha1.probe import (
    LoadProbeStatus,
    ProbePhase,
    ProbeProgress,
    ProbeResult,
    SelfCheck,
    StageResult,
)
from chaffinch.api.v1alpha1.reasons import CommandReason, ConditionType, Reason
from chaffinch.api.v1alpha1.record import (
    RecordedCommand,
    RecordedHold,
    RecordedStep,
    RolloutRecordStatus,
    StepKind,
)
from chaffinch.api.v1alpha1.rollout import Require
from chaffinch.api.v1alpha1.status import (
    Phase,
    RolloutStatus,
    StableStatus,
    TrafficStatus,
    WeightStatus,
    Writer,
)
from chaffinch.api.v1alpha1.step_status import (
    ArmSamples,
    HoldStatus,
    ObjectiveStatus,
    ObjectiveVerdict,
    PauseStatus,
    StepStatus,
)
from chaffinch.api.v1alpha1.surroundings import PodStormStatus, RouterEditsStatus

_STABLE, _CANDIDATE = "58be2000", "0a1b2c3d"


def _at(minute: int) -> datetime:
    return datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC) + timedelta(minutes=minute)


_CONDITION = Condition(
    type=ConditionType.READY,
    status=ConditionStatus.FALSE,
    reason=Reason.ROLLOUT_IN_PROGRESS,
    message="95 % on 58be2000 and 5 % on 0a1b2c3d.",
    observed_generation=3,
    last_transition_time=_at(0),
)
_OBJECTIVE = ObjectiveStatus(
    name="ttft-p95",
    verdict=ObjectiveVerdict.INCONCLUSIVE,
    reason=Reason.BELOW_FLOOR,
    value="241ms",
    control="187ms",
    ratio="1.29",
    interval="1.19..1.41",
    limit="300ms",
    ruled_out="1.50",
    samples=ArmSamples(candidate=812, stable=15_423),
    eta=_at(9),
    step="canary-5",
    message="241ms beside 187ms: 700 more requests are needed.",
)
_BASELINE = BaselineStatus(
    name="chat-a100-v1.0", uid="0b5c9c1e-0000-4000-8000-000000000001", digest="sha256:" + "2" * 64
)
_WARM = (WarmPod(name="chat-0a1b2c3d-x", restarts=1),)

_PROGRESS = RolloutProgress(
    id="0a1b2c3d-a3",
    stage=RolloutStage.STEPPING,
    started_at=_at(0),
    deadline=_at(15),
    step=StepStatus(
        name="canary-5",
        index=2,
        of=6,
        require=Require.NO_HARM,
        entered_at=_at(1),
        restarted_at=_at(2),
        acknowledged_at=_at(3),
        earliest_end=_at(8),
        passed_at=_at(9),
        run=2,
        runs_before=1,
        judge='{"looks":3}',
    ),
    hold=HoldStatus(
        reason=Reason.BELOW_FLOOR, since=_at(4), deadline=_at(34), message="waits for 700 more requests"
    ),
    paused=PauseStatus(since=_at(5), cause=Reason.COMMANDED, by="jane@example.com", message="jane paused it"),
    decision=DecisionStatus(
        kind=DecisionKind.ROLLBACK,
        cause=Reason.OBJECTIVE_FAILED,
        at=_at(6),
        message="ttft-p95 missed its limit",
        command="chat-abort-7xk2p",
    ),
    record="chat-3",
    plan='{"objectives":[],"steps":[]}',
)

_ROLLOUT = RolloutStatus(
    observed_generation=3,
    phase=Phase.PROGRESSING,
    writer=Writer(epoch=2, sequence=41),
    replicas=4,
    selector=f"chaffinch.dev/revision={_STABLE}",
    stable=StableStatus(revision=_STABLE, since=_at(0), replicas=4, ready=3),
    candidate=CandidateStatus(
        revision=_CANDIDATE,
        attempt=3,
        replicas=2,
        ready=1,
        warm=_WARM,
        warm_up=WarmUpStatus(serial=2, pods=_WARM, failures=1),
        warm_ups=2,
    ),
    rollout=_PROGRESS,
    attempts=3,
    last_attempt=LastAttempt(
        revision="77aa00ff",
        attempt=2,
        outcome=Outcome.ROLLED_BACK,
        cause=Reason.OBJECTIVE_FAILED,
        at=_at(-60),
        decided_at=_at(-61),
        again_at=_at(60),
        message="ttft-p95 missed its limit",
    ),
    last_command=LastCommand(
        name="chat-abort-7xk2p",
        uid="0b5c9c1e-0000-4000-8000-000000000002",
        action=CommandAction.ABORT,
        revision=_CANDIDATE,
        by="jane@example.com",
        note="wrong model",
        at=_at(6),
        outcome=CommandOutcome.ACCEPTED,
        reason=CommandReason.DONE,
        message="0a1b2c3d is rolled back.",
    ),
    failed_revisions=("77aa00ff", _CANDIDATE),
    traffic=TrafficStatus(
        sequence=7,
        acknowledged=6,
        routers=2,
        weight=WeightStatus(step=500, desired=333, observed=250),
    ),
    router_edits=RouterEditsStatus(
        count=4, at=_at(7), object="Deployment/chat-router", by="kubectl-edit", fight_since=_at(5)
    ),
    pod_storms=(
        PodStormStatus(revision=_CANDIDATE, since=_at(2), turned_away=12, tries=3, again_at=_at(10)),
    ),
    objectives=(_OBJECTIVE,),
    baseline=_BASELINE,
    conditions=(_CONDITION,),
)

_PROBE = LoadProbeStatus(
    observed_generation=1,
    phase=ProbePhase.RUNNING,
    revision=_STABLE,
    pod_uid="0b5c9c1e-0000-4000-8000-000000000003",
    started_at=_at(0),
    deadline=_at(20),
    finished_at=_at(12),
    progress=ProbeProgress(stage="c16", requests=900),
    result=ProbeResult(
        engine_version="0.11.0",
        stages=(
            StageResult(
                name="c16",
                concurrency=16,
                requests=1500,
                errors=3,
                errors_by_kind={"timeout": 2, "status-500": 1},
                prompt_tokens=768_000,
                output_tokens=384_000,
                duration_millis=90_000,
                complete=False,
                sketches=Sketches(ttft="180:700 547:1", e2e="260:1499 547:1", tpot="120:1499"),
                self_check=SelfCheck(passed=False, problem="the load generator lagged by 40ms"),
            ),
        ),
    ),
    conditions=(_CONDITION,),
)

_COMMAND = RolloutCommandStatus(
    outcome=CommandOutcome.REFUSED,
    reason=CommandReason.OTHER_REVISION,
    message="0a1b2c3d is no longer the candidate: look again, and command what you see.",
    at=_at(6),
)

_RECORD = RolloutRecordStatus(
    outcome=Outcome.ROLLED_BACK,
    cause=Reason.OBJECTIVE_FAILED,
    message="ttft-p95 missed its limit",
    decided_at=_at(6),
    ended_at=_at(7),
    baseline=_BASELINE,
    steps=(
        RecordedStep(
            name="canary-5",
            kind=StepKind.CANARY,
            index=2,
            weight=500,
            entered_at=_at(1),
            acknowledged_at=_at(3),
            passed_at=_at(9),
            restarts=1,
            restarted_at=_at(2),
            objectives=(_OBJECTIVE,),
        ),
    ),
    holds=(
        RecordedHold(
            reason=Reason.BELOW_FLOOR,
            since=_at(4),
            until=_at(5),
            step="canary-5",
            message="waits for 700 more requests",
        ),
    ),
    commands=(
        RecordedCommand(
            name="chat-abort-7xk2p",
            action=CommandAction.ABORT,
            by="jane@example.com",
            reason="wrong model",
            at=_at(6),
            outcome=CommandOutcome.ACCEPTED,
            message="0a1b2c3d is rolled back.",
        ),
    ),
)

FULL_STATUSES: dict[str, StatusModel] = {
    "InferenceRollout": _ROLLOUT,
    "LoadProbe": _PROBE,
    "RolloutCommand": _COMMAND,
    "RolloutRecord": _RECORD,
}
"""The statuses by kind."""
