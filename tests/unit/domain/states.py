"""A rollout in every state, for tests of what is done and said about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, Outcome, RolloutStage
from chaffinch.api.v1alpha1.strategy import ApprovalStep
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import (
    Acknowledgement,
    Observation,
    Pod,
    RevisionSeen,
    RouterPod,
    RouterSeen,
)
from chaffinch.domain.plan import plan_of
from chaffinch.domain.revision import revision_of
from chaffinch.domain.route import Decision
from chaffinch.domain.state import (
    COMMANDED,
    Candidate,
    Hold,
    LastAttempt,
    Pause,
    RolloutState,
    RouterEdits,
    StableRevision,
    StepState,
    WarmPod,
)
from chaffinch.domain.verdict import EvidenceReason, Judgement, JudgeState
from chaffinch.domain.verdict import Outcome as Said
from unit.domain.revisions import edited

NOW = datetime(2026, 3, 1, 14, 7, 31, tzinfo=UTC)
SPEC = edited()
OLD, NEW = "58be2aaa", revision_of(SPEC)


def pods(revision: str, ready: int) -> RevisionSeen:
    made = tuple(Pod(f"{revision}-{i}", f"uid-{i}", NOW, ready=True) for i in range(ready))
    return RevisionSeen(revision, desired_replicas=4, pods=made)


ROUTER = RouterSeen((RouterPod("r1", ready=True, acknowledgement=Acknowledgement(1, 7, {})),))
SEEN = Observation(RolloutIdentity("llm", "chat", "uid"), (pods(OLD, 4), pods(NEW, 1)), ROUTER)
CANDIDATE = Candidate(NEW, 2, NOW, None, plan_of(SPEC), warmed=(WarmPod(f"{NEW}-0", 0),))
STABLE = StableRevision(OLD, NOW)
PROMOTED = LastAttempt(NEW, 2, Outcome.PROMOTED, "AsExpected", NOW, "every step passed")
ROLLED_BACK = LastAttempt(NEW, 2, Outcome.ROLLED_BACK, "ObjectiveFailed", NOW, "ttft p95 1.29x stable")
HEALTHY = RolloutState(stable=StableRevision(NEW, NOW), attempts=2, last_attempt=PROMOTED)
FIRST = RolloutState(RolloutStage.DEPLOYING, candidate=CANDIDATE, attempts=1)
DEPLOYING = RolloutState(RolloutStage.DEPLOYING, STABLE, CANDIDATE, attempts=2)
AT_CANARY = replace(CANDIDATE, step=StepState(1, NOW, NOW), weight=500)
STEPPING = RolloutState(RolloutStage.STEPPING, STABLE, AT_CANARY, attempts=2)
PAUSED = replace(STEPPING, candidate=replace(AT_CANARY, paused=Pause(NOW, COMMANDED, "ann", "paused by ann")))
_STRATEGY = AT_CANARY.plan.strategy
_WITH_APPROVAL = (*_STRATEGY.steps[:2], ApprovalStep("sign-off", 500), *_STRATEGY.steps[2:])
WAITING = replace(
    STEPPING,
    candidate=replace(
        AT_CANARY,
        plan=replace(AT_CANARY.plan, strategy=replace(_STRATEGY, steps=_WITH_APPROVAL)),
        step=StepState(2, NOW, NOW),
    ),
)
HELD = replace(STEPPING, hold=Hold("NoData", NOW, NOW + timedelta(minutes=30), "no block has matured"))
FIGHT = RouterEdits(5, NOW, "ConfigMap/chat-router", "gitops", NOW)
FOUGHT = replace(
    STEPPING,
    candidate=replace(AT_CANARY, weight=0, step=StepState(1, NOW)),
    hold=Hold("RouteFight", NOW, None, "ConfigMap/chat-router is changed by gitops again and again"),
    router_edits=FIGHT,
)
OVERDUE = replace(STEPPING, hold=Hold("NoData", NOW, NOW - timedelta(minutes=1), "no block has matured"))
BAKING = replace(STEPPING, candidate=replace(AT_CANARY, step=StepState(3, NOW, NOW), weight=10_000))
PROMOTING = replace(
    BAKING,
    stage=RolloutStage.PROMOTING,
    candidate=replace(
        AT_CANARY, decision=Decision(DecisionKind.PROMOTE, "AsExpected", NOW, "every step passed")
    ),
)
ROLLING_BACK = replace(
    STEPPING,
    stage=RolloutStage.ROLLING_BACK,
    candidate=replace(
        AT_CANARY,
        weight=0,
        decision=Decision(DecisionKind.ROLLBACK, "ObjectiveFailed", NOW, "ttft p95 1.29x"),
    ),
)
REFUSED = RolloutState(stable=STABLE, attempts=2, last_attempt=ROLLED_BACK, failed=(NEW,))
FAILED_BEFORE = RolloutState(
    stable=STABLE, attempts=3, last_attempt=replace(PROMOTED, revision=OLD), failed=(NEW,)
)
STATUS_LOST = RolloutState(hold=Hold("StatusLost", NOW, None, "the router's ConfigMap is missing"))


def judged(reason: EvidenceReason, outcome: Said = Said.INCONCLUSIVE) -> Judgement:
    return Judgement(
        outcome,
        reason,
        "ttft p95 1.02x stable, n 2310/9240: undecided",
        (),
        overdue=False,
        state=JudgeState(),
    )
