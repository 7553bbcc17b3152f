from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutProgress, RolloutStage
from chaffinch.api.v1alpha1.common import Condition, ConditionStatus
from chaffinch.api.v1alpha1.status import RolloutStatus, Writer
from chaffinch.api.v1alpha1.step_status import HoldStatus, ObjectiveStatus, ObjectiveVerdict
from chaffinch.domain.status_update import is_due

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def condition(message: str = "5% on 0badcafe.", status: ConditionStatus = ConditionStatus.TRUE) -> Condition:
    return Condition(
        type="Reconciling",
        status=status,
        reason="Stepping",
        message=message,
        observed_generation=1,
        last_transition_time=NOW,
    )


def objective(value: str = "241ms") -> ObjectiveStatus:
    return ObjectiveStatus(name="ttft", verdict=ObjectiveVerdict.PASS, reason="Sufficient", value=value)


def hold(message: str, reason: str = "NoData") -> RolloutProgress:
    return RolloutProgress(
        id="0badcafe-a2",
        stage=RolloutStage.STEPPING,
        started_at=NOW,
        hold=HoldStatus(reason=reason, since=NOW, message=message),
    )


STORED = RolloutStatus(
    observed_generation=1,
    writer=Writer(epoch=1, sequence=7),
    rollout=hold("no data"),
    objectives=(objective(),),
    conditions=(condition(),),
)


def changed(**changes: object) -> RolloutStatus:
    return STORED.model_copy(update={"writer": None, **changes})


FIGURES = [
    changed(objectives=(objective("250ms"),)),
    changed(conditions=(condition("5% on 0badcafe, n 300."),)),
    changed(rollout=hold("no data for 20 s")),
]
FACTS = [
    changed(observed_generation=2),
    changed(conditions=(condition(status=ConditionStatus.FALSE),)),
    changed(conditions=()),
    changed(rollout=hold("no data", "StaleData")),
    changed(rollout=None),
    changed(objectives=(objective("250ms"),), attempts=3),
]


def test_a_first_status_is_written() -> None:
    assert is_due(None, STORED, None, NOW)


def test_an_unchanged_status_is_not_written_whoever_wrote_it() -> None:
    assert not is_due(STORED, changed(), None, NOW + timedelta(hours=1))


@pytest.mark.parametrize("following", FACTS)
def test_a_fact_is_written_at_once(following: RolloutStatus) -> None:
    assert is_due(STORED, following, NOW, NOW + timedelta(seconds=1))


@pytest.mark.parametrize("following", FIGURES)
@pytest.mark.parametrize(("seconds", "want"), [(1, False), (29, False), (30, True)])
def test_figures_alone_are_written_every_thirty_seconds(
    following: RolloutStatus, seconds: int, want: bool
) -> None:
    assert is_due(STORED, following, NOW, NOW + timedelta(seconds=seconds)) is want


@pytest.mark.parametrize("following", FIGURES)
def test_a_process_that_never_wrote_does_not_wait(following: RolloutStatus) -> None:
    assert is_due(STORED, following, None, NOW)
