"""Case C31: what is wrong with pods, told apart whatever readiness says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.machine.failures import Failure, failure_at_deadline, failure_of
from chaffinch.domain.observation import CreationRefusal, Pod, RevisionSeen, Termination
from chaffinch.domain.timing import Timing

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
POD = Pod("chat-1", "uid-1", NOW - timedelta(minutes=5))


BEGAN = NOW - timedelta(minutes=6)


def turned_away(count: int, created: datetime = POD.created) -> list[Pod]:
    pod = replace(POD, failed="UnexpectedAdmissionError", created=created)
    return [replace(pod, name=f"chat-{number}") for number in range(2, 2 + count)]


def seen(*pods: Pod, refused: CreationRefusal | None = None) -> RevisionSeen:
    return RevisionSeen("0badcafe", pods=pods, refused=refused)


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        (POD, None),
        (replace(POD, restarts=2, last_termination=Termination(1, "Error")), None),
        (
            replace(POD, restarts=3, ready=True, last_termination=Termination(1, "Error")),
            Failure(Reason.CRASH_LOOP, "container engine of pod chat-1 crashed, 3 restarts, exit code 1"),
        ),
        (
            replace(POD, restarts=4, last_termination=Termination(137, "OOMKilled")),
            Failure(
                Reason.OUT_OF_MEMORY,
                "container engine of pod chat-1 was killed for its use of memory, 4 restarts",
            ),
        ),
        (
            replace(POD, waiting="ErrImagePull"),
            Failure(Reason.IMAGE_PULL, "pod chat-1 cannot pull its image (ErrImagePull)"),
        ),
        (replace(POD, waiting="ErrImagePull", created=NOW - timedelta(seconds=29)), None),
        (replace(POD, waiting="ContainerCreating"), None),
        (replace(POD, unschedulable=True), None),
        (replace(POD, restarts=9, terminating=True), None),
        (replace(POD, waiting="ErrImagePull", terminating=True), None),
        (replace(POD, restarts=9, failed="Evicted"), None),
    ],
)
def test_a_failure_that_need_not_be_waited_for(pod: Pod, want: Failure | None) -> None:
    assert failure_of(seen(POD, pod), BEGAN, NOW, Timing()) == want


def test_nodes_that_turn_pods_away_are_a_failure_once_they_have_made_enough_of_them() -> None:
    away = turned_away(5)
    evicted = replace(POD, name="chat-9", failed="Evicted")
    assert failure_of(seen(POD, *away[:4]), BEGAN, NOW, Timing()) is None
    assert failure_of(seen(POD, *away[:4], evicted), BEGAN, NOW, Timing()) == Failure(
        Reason.UNSCHEDULABLE,
        "nodes turned away or evicted 5 of its pods, one after another (UnexpectedAdmissionError)",
    )


def test_pods_that_somebody_deletes_are_not_turned_away_however_they_end() -> None:
    deleted = [replace(pod, terminating=True) for pod in turned_away(9)]
    assert failure_of(seen(POD, *deleted), BEGAN, NOW, Timing()) is None


def test_pods_that_an_earlier_attempt_has_left_behind_count_for_nothing() -> None:
    earlier = turned_away(9, created=BEGAN - timedelta(seconds=1))
    assert failure_of(seen(POD, *earlier), BEGAN, NOW, Timing()) is None


@pytest.mark.parametrize(
    ("revision", "want"),
    [
        (seen(refused=CreationRefusal.QUOTA), Reason.QUOTA_EXCEEDED),
        (seen(refused=CreationRefusal.ADMISSION), Reason.ADMISSION_DENIED),
        (seen(POD, replace(POD, waiting="ImagePullBackOff")), Reason.IMAGE_PULL),
        (seen(replace(POD, unschedulable=True)), Reason.UNSCHEDULABLE),
        (
            seen(replace(POD, restarts=1, last_termination=Termination(137, "OOMKilled"))),
            Reason.OUT_OF_MEMORY,
        ),
        (seen(POD), Reason.PROGRESS_DEADLINE_EXCEEDED),
        (seen(replace(POD, unschedulable=True, terminating=True)), Reason.PROGRESS_DEADLINE_EXCEEDED),
        (seen(), Reason.PROGRESS_DEADLINE_EXCEEDED),
    ],
)
def test_at_the_deadline_the_most_specific_reason_is_told(revision: RevisionSeen, want: Reason) -> None:
    assert failure_at_deadline(revision, 0, 2).cause is want
