from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.common import Condition, ConditionStatus
from chaffinch.api.v1alpha1.reasons import ConditionType
from chaffinch.api.v1alpha1.status import DecisionKind, Outcome, RolloutStage
from chaffinch.domain.conditions import conditions_of, invalid_spec_conditions
from chaffinch.domain.conditions.view import View
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import (
    Acknowledgement,
    BaselineSeen,
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
    Candidate,
    Hold,
    LastAttempt,
    RolloutState,
    StableRevision,
    StepState,
    WarmPod,
    WarmUp,
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
HELD = replace(STEPPING, hold=Hold("NoData", NOW, NOW + timedelta(minutes=30), "no block has matured"))
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


def told(state: RolloutState, seen: Observation = SEEN, judgement: Judgement | None = None) -> dict[str, str]:
    """Every condition as ``Status/Reason``."""
    found = conditions_of(View(SPEC, state, seen, judgement, NOW), (), 3)
    return {each.type: f"{each.status}/{each.reason}" for each in found}


TABLE: dict[str, tuple[RolloutState, Observation, str, str, str, str, str]] = {
    # name: state, seen, Available, Ready, Reconciling, Stalled, Promoted
    "healthy": (
        HEALTHY,
        replace(SEEN, revisions=(pods(NEW, 4),)),
        "True/StableServing",
        "True/Promoted",
        "False/AsExpected",
        "False/AsExpected",
        "True/AsExpected",
    ),
    "healthy but for a pod": (
        HEALTHY,
        replace(SEEN, revisions=(pods(NEW, 3),)),
        "True/StableUndersized",
        "True/Promoted",
        "True/Scaling",
        "False/AsExpected",
        "True/AsExpected",
    ),
    "healthy without any pod": (
        HEALTHY,
        replace(SEEN, revisions=(pods(NEW, 0),)),
        "False/NoReadyEndpoint",
        "False/NoReadyEndpoint",
        "True/Scaling",
        "False/AsExpected",
        "True/AsExpected",
    ),
    "healthy without a router": (
        HEALTHY,
        replace(SEEN, revisions=(pods(NEW, 4),), router=RouterSeen()),
        "False/RouterUnavailable",
        "False/RouterUnavailable",
        "False/AsExpected",
        "False/AsExpected",
        "True/AsExpected",
    ),
    "a name is taken": (
        HEALTHY,
        replace(SEEN, revisions=(pods(NEW, 4),), taken=("Service/chat",)),
        "True/StableServing",
        "False/NameTaken",
        "False/NameTaken",
        "True/NameTaken",
        "True/AsExpected",
    ),
    "the first is being deployed": (
        FIRST,
        SEEN,
        "False/NotDeployed",
        "False/RolloutInProgress",
        "True/Deploying",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "the first crashes": (
        replace(FIRST, hold=Hold("CrashLoop", NOW, None, "exit code 1")),
        SEEN,
        "False/NotDeployed",
        "False/RolloutInProgress",
        "False/CrashLoop",
        "True/CrashLoop",
        "False/CrashLoop",
    ),
    "a canary is warmed": (
        replace(DEPLOYING, candidate=replace(CANDIDATE, warm_up=WarmUp(1, (WarmPod("c", 0),)))),
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/WarmingUp",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "a step": (
        STEPPING,
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/Stepping",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "a hold": (
        HELD,
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/Holding",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "a hold past its deadline": (
        OVERDUE,
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "False/NoEvidence",
        "True/NoEvidence",
        "Unknown/InProgress",
    ),
    "a bake with too few pods": (
        BAKING,
        SEEN,
        "True/StableUndersized",
        "False/RolloutInProgress",
        "True/Stepping",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "nothing to fall back to": (
        replace(STEPPING, hold=Hold("NoReadyEndpoint", NOW, None, "the stable revision has no ready pod")),
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "False/NoReadyEndpoint",
        "True/NoReadyEndpoint",
        "Unknown/InProgress",
    ),
    "promoting": (
        PROMOTING,
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/Promoting",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "promoting, its pods lost": (
        replace(
            PROMOTING, hold=Hold("CanaryUnavailable", NOW, NOW + timedelta(hours=1), "it has no ready pod")
        ),
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/Holding",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "promoting, its pods without room": (
        replace(PROMOTING, hold=Hold("Unschedulable", NOW, None, "no node has room for its pods")),
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "False/Unschedulable",
        "True/Unschedulable",
        "Unknown/InProgress",
    ),
    "rolling back": (
        ROLLING_BACK,
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/RollingBack",
        "False/AsExpected",
        "False/ObjectiveFailed",
    ),
    "rolled back": (
        REFUSED,
        SEEN,
        "True/StableServing",
        "False/RolledBack",
        "False/RolledBack",
        "True/RolledBack",
        "False/ObjectiveFailed",
    ),
    "failed in an earlier attempt": (
        FAILED_BEFORE,
        SEEN,
        "True/StableServing",
        "False/RolledBack",
        "False/RevisionPreviouslyFailed",
        "True/RevisionPreviouslyFailed",
        "True/AsExpected",
    ),
    "the status is lost": (
        STATUS_LOST,
        SEEN,
        "False/NotDeployed",
        "False/RolloutInProgress",
        "False/StatusLost",
        "True/StatusLost",
        "Unknown/NotObserved",
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_conditions_say_what_is_so(name: str) -> None:
    state, seen, *want = TABLE[name]
    found = told(state, seen)
    assert [found[kind] for kind in ("Available", "Ready", "Reconciling", "Stalled", "Promoted")] == want


@pytest.mark.parametrize("name", TABLE)
def test_messages_are_short_and_end_with_a_full_stop(name: str) -> None:
    state, seen, *_ = TABLE[name]
    for condition in conditions_of(View(SPEC, state, seen, None, NOW), (), 3):
        assert 0 < len(condition.message) <= 512
        assert condition.message.endswith(".")
        assert ".." not in condition.message.replace("…", "")


def judged(reason: EvidenceReason, outcome: Said = Said.INCONCLUSIVE) -> Judgement:
    return Judgement(
        outcome,
        reason,
        "ttft p95 1.02x stable, n 2310/9240: undecided",
        (),
        overdue=False,
        state=JudgeState(),
    )


@pytest.mark.parametrize(
    ("judgement", "want"),
    [
        (None, "Unknown/NoData"),
        (judged(EvidenceReason.SUFFICIENT, Said.FAIL), "True/Sufficient"),
        (judged(EvidenceReason.JUDGING), "False/Judging"),
        (judged(EvidenceReason.TOO_QUIET), "False/TooQuiet"),
        (judged(EvidenceReason.UNAVAILABLE), "Unknown/EvidenceUnavailable"),
        (judged(EvidenceReason.STALE_DATA), "Unknown/StaleData"),
    ],
)
def test_missing_evidence_is_unknown_and_little_evidence_is_false(
    judgement: Judgement | None, want: str
) -> None:
    assert told(STEPPING, judgement=judgement)["Evidence"] == want


BASELINE = edited("baseline", {"name": "chat", "version": "v1"})


@pytest.mark.parametrize(
    ("seen", "want"),
    [
        (None, "Unknown/NotObserved"),
        (BaselineSeen("chat-v1", found=False), "False/BaselineNotFound"),
        (
            BaselineSeen("chat-v1", found=True, problem="BaselineTampered", detail="digest"),
            "False/BaselineTampered",
        ),
        (BaselineSeen("chat-v1", found=True, digest="sha256:aa"), "True/Matched"),
    ],
)
def test_a_named_baseline_is_said_to_be_valid_or_why_not(seen: BaselineSeen | None, want: str) -> None:
    found = conditions_of(View(BASELINE, HEALTHY, replace(SEEN, baseline=seen), None, NOW), (), 3)
    assert {f"{c.status}/{c.reason}" for c in found if c.type == "BaselineValid"} == {want}


def test_without_a_named_baseline_nothing_is_said_about_one() -> None:
    assert "BaselineValid" not in told(HEALTHY)


def test_a_step_says_where_traffic_is_why_and_what_comes_next() -> None:
    judgement = judged(EvidenceReason.JUDGING)
    found = conditions_of(View(SPEC, STEPPING, SEEN, judgement, NOW), (), 3)
    message = next(c.message for c in found if c.type == "Reconciling")
    assert message == (
        f"Step 2/5 canary-5: 5% on {NEW} (1 pod), 95% on {OLD} (4 pods)."
        " ttft p95 1.02x stable, n 2310/9240: undecided. Next: canary-one-pod on pass. Do: nothing."
    )


def test_a_rollback_says_where_traffic_is_why_and_what_to_do() -> None:
    found = conditions_of(View(SPEC, REFUSED, SEEN, None, NOW), (), 3)
    assert next(c.message for c in found if c.type == "Stalled") == (
        f"100% on {OLD} (4 pods). {NEW} was rolled back at 14:07:31Z: ttft p95 1.29x stable."
        " Not retried. Do: change the spec, or set it back to the stable revision's."
    )


def test_a_revision_that_found_no_room_is_said_to_be_tried_again() -> None:
    last = replace(ROLLED_BACK, cause="Unschedulable", message="no node has room for its pods")
    found = conditions_of(View(SPEC, replace(REFUSED, failed=(), last_attempt=last), SEEN, None, NOW), (), 3)
    assert next(c.message for c in found if c.type == "Stalled") == (
        f"100% on {OLD} (4 pods). {NEW} was rolled back at 14:07:31Z: no node has room for its pods."
        " Tried again by itself in some minutes. Do: see that its pods find room and stay."
    )


@pytest.mark.parametrize(
    ("old", "kept"),
    [(ConditionStatus.TRUE, True), (ConditionStatus.FALSE, False), (ConditionStatus.UNKNOWN, False)],
)
def test_a_condition_that_keeps_its_status_keeps_its_transition_time(
    old: ConditionStatus, kept: bool
) -> None:
    earlier = NOW - timedelta(hours=1)
    previous = Condition(
        type="Available",
        status=old,
        reason="StableUndersized",
        message="3 of 4.",
        observed_generation=1,
        last_transition_time=earlier,
    )
    seen = replace(SEEN, revisions=(pods(NEW, 4),))
    found = conditions_of(View(SPEC, HEALTHY, seen, None, NOW), (previous,), 3)[0]
    assert (found.type, found.observed_generation) == ("Available", 3)
    assert found.last_transition_time == (earlier if kept else NOW)


def test_an_invalid_spec_changes_nothing_but_what_is_said_of_it() -> None:
    healthy = conditions_of(View(SPEC, HEALTHY, replace(SEEN, revisions=(pods(NEW, 4),)), None, NOW), (), 3)
    found = invalid_spec_conditions("spec.replicas", "must be 1 or more", healthy, 4, NOW)
    by_type = {each.type: each for each in found}
    assert set(by_type) == {each.type for each in healthy}
    assert by_type["Available"] == healthy[0]
    said = [
        (by_type[kind].status.value, by_type[kind].reason) for kind in ("Ready", "Reconciling", "Stalled")
    ]
    assert said == [("False", "InvalidSpec"), ("False", "InvalidSpec"), ("True", "InvalidSpec")]
    assert by_type["Stalled"].message == (
        "spec.replicas: must be 1 or more. Nothing is changed until that is mended."
    )


def test_every_condition_is_one_of_the_closed_list() -> None:
    assert set(told(HEALTHY)) <= {kind.value for kind in ConditionType}
