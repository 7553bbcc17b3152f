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
)
from chaffinch.domain.rollout_status import status_of
from chaffinch.domain.state import (
    RolloutState,
)
from chaffinch.domain.verdict import EvidenceReason, Judgement
from chaffinch.domain.verdict import Outcome as Said
from unit.domain.condition_table import TABLE
from unit.domain.revisions import edited
from unit.domain.states import (
    HEALTHY,
    NEW,
    NOW,
    SEEN,
    SPEC,
    STEPPING,
    judged,
    pods,
)


def told(state: RolloutState, seen: Observation = SEEN, judgement: Judgement | None = None) -> dict[str, str]:
    """Every condition as ``Status/Reason``."""
    found = conditions_of(View(SPEC, state, seen, judgement, NOW), (), 3)
    return {each.type: f"{each.status}/{each.reason}" for each in found}


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
