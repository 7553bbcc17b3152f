from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from chaffinch.api.v1alpha1.common import Condition, ConditionStatus
from chaffinch.api.v1alpha1.reasons import ConditionType
from chaffinch.domain.conditions import conditions_of
from chaffinch.domain.conditions.view import View
from chaffinch.domain.observation import (
    BaselineSeen,
    Observation,
    RouterSeen,
)
from chaffinch.domain.rollout_status import status_of
from chaffinch.domain.state import (
    Hold,
    RolloutState,
    WarmPod,
    WarmUp,
)
from chaffinch.domain.verdict import EvidenceReason, Judgement
from chaffinch.domain.verdict import Outcome as Said
from unit.domain.revisions import edited
from unit.domain.states import (
    BAKING,
    CANDIDATE,
    DEPLOYING,
    FAILED_BEFORE,
    FIGHT,
    FIRST,
    FOUGHT,
    HEALTHY,
    HELD,
    NEW,
    NOW,
    OVERDUE,
    PAUSED,
    PROMOTING,
    REFUSED,
    ROLLING_BACK,
    SEEN,
    SPEC,
    STATUS_LOST,
    STEPPING,
    WAITING,
    judged,
    pods,
)


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
    "healthy in a fight for the router": (
        replace(HEALTHY, router_edits=FIGHT),
        replace(SEEN, revisions=(pods(NEW, 4),)),
        "True/StableServing",
        "False/RouteFight",
        "False/RouteFight",
        "True/RouteFight",
        "True/AsExpected",
    ),
    "a step in a fight for the router": (
        FOUGHT,
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "False/RouteFight",
        "True/RouteFight",
        "Unknown/InProgress",
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
    "a pause": (
        PAUSED,
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/Paused",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "a pause without evidence for long": (
        replace(PAUSED, hold=OVERDUE.hold),
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/Paused",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "a pause beside a dead stable revision": (
        replace(PAUSED, hold=Hold("NoReadyEndpoint", NOW, None, "the stable revision has no ready pod")),
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "False/NoReadyEndpoint",
        "True/NoReadyEndpoint",
        "Unknown/InProgress",
    ),
    "an approval": (
        WAITING,
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/AwaitingApproval",
        "False/AsExpected",
        "Unknown/InProgress",
    ),
    "an approval whose canary lacks pods": (
        replace(WAITING, hold=Hold("CanaryUnavailable", NOW, None, "1 of 2 canary pods are ready")),
        SEEN,
        "True/StableServing",
        "False/RolloutInProgress",
        "True/Holding",
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


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("healthy", "Healthy"),
        ("a step", "Progressing"),
        ("a hold", "Progressing"),
        ("a hold past its deadline", "Degraded"),
        ("a pause", "Paused"),
        ("a pause beside a dead stable revision", "Degraded"),
        ("an approval", "Paused"),
        ("an approval whose canary lacks pods", "Progressing"),
        ("rolled back", "Degraded"),
    ],
)
def test_the_phase_is_one_word_for_what_the_conditions_say(name: str, want: str) -> None:
    state, seen, *_ = TABLE[name]
    assert status_of(View(SPEC, state, seen, None, NOW), 3, None).phase == want


def test_every_condition_is_one_of_the_closed_list() -> None:
    assert set(told(HEALTHY)) <= {kind.value for kind in ConditionType}
