from datetime import timedelta, timezone

import pytest
from pydantic import ValidationError

from chaffinch.api.v1alpha1.attempt_status import RolloutProgress, RolloutStage
from chaffinch.api.v1alpha1.common import format_time
from chaffinch.api.v1alpha1.reasons import ConditionType, Reason
from chaffinch.api.v1alpha1.remedies import QUIET, REMEDIES, remedy_of
from chaffinch.api.v1alpha1.status import RolloutStatus, WeightStatus
from unit.api.rollouts import NOON, a_status


def test_a_status_is_written_without_absent_fields_in_the_words_of_the_api() -> None:
    assert a_status().to_dict() == {
        "observedGeneration": 3,
        "phase": "Progressing",
        "writer": {"epoch": 2, "sequence": 41},
        "stable": {"revision": "58be2000", "since": "2026-03-01T12:00:00Z", "replicas": 2, "ready": 2},
        "candidate": {
            "revision": "0a1b2c3d",
            "attempt": 1,
            "replicas": 1,
            "ready": 1,
            "warm": [{"name": "chat-x", "restarts": 1}],
        },
        "rollout": {
            "id": "0a1b2c3d-a1",
            "stage": "Stepping",
            "startedAt": "2026-03-01T12:00:00Z",
            "step": {"name": "canary-5", "index": 1, "of": 3, "enteredAt": "2026-03-01T12:00:00.000001Z"},
        },
        "failedRevisions": [],
        "traffic": {"sequence": 7, "weight": {"step": 500, "desired": 500, "percent": "5%"}},
        "podStorms": [],
        "objectives": [],
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "RolloutInProgress",
                "message": "95 % on 58be2000.",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-03-01T12:00:00Z",
            }
        ],
    }


def test_a_status_that_was_written_is_read_back_the_same() -> None:
    assert RolloutStatus.model_validate(a_status().to_dict()) == a_status()


def test_fields_of_a_later_version_are_read_over() -> None:
    later = {**a_status().to_dict(), "mood": "sunny"}
    later["writer"] = {**later["writer"], "host": "a"}
    assert RolloutStatus.model_validate(later) == a_status()


def test_an_empty_status_is_a_status() -> None:
    assert RolloutStatus.model_validate({}) == RolloutStatus()


@pytest.mark.parametrize(
    ("desired", "want"),
    [(0, "0%"), (500, "5%"), (3333, "33.33%"), (1050, "10.5%"), (10_000, "100%"), (1, "0.01%")],
)
def test_a_weight_prints_in_percent(desired: int, want: str) -> None:
    assert WeightStatus(step=desired, desired=desired).percent == want


def test_a_time_of_another_zone_is_kept_in_utc() -> None:
    one_hour_east = NOON.astimezone(timezone(timedelta(hours=1)))
    writer = RolloutProgress(id="r", stage=RolloutStage.IDLE, started_at=one_hour_east)
    assert writer.to_dict()["startedAt"] == "2026-03-01T12:00:00Z"


def test_a_time_without_a_zone_is_refused() -> None:
    naive = NOON.replace(tzinfo=None)
    with pytest.raises(ValueError, match="needs a time zone"):
        format_time(naive)
    with pytest.raises(ValidationError, match="needs a time zone"):
        RolloutProgress(id="r", stage=RolloutStage.IDLE, started_at=naive)


@pytest.mark.parametrize("word", [*ConditionType, *Reason], ids=str)
def test_every_word_of_a_condition_has_one_sentence(word: ConditionType | Reason) -> None:
    assert word.meaning.endswith(".")
    assert word.meaning[0].isupper()
    assert word == word.value


@pytest.mark.parametrize("reason", Reason, ids=str)
def test_every_reason_says_what_to_do_about_it(reason: Reason) -> None:
    assert (reason in QUIET) != (reason in REMEDIES)
    assert remedy_of(reason).endswith(".")
