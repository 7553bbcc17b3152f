from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from chaffinch.adapters.evidence_memory import Reading, Readings, Start
from unit.adapters.fakeprometheus import QUESTION

FRESH = Reading(Start(QUESTION.since))
READ = Reading(Start(QUESTION.since, found={}), blocks={"a": {"r": 1}})


def test_only_the_newest_step_of_a_rollout_is_remembered() -> None:
    readings, later = Readings(), replace(QUESTION, since=QUESTION.since + timedelta(minutes=1))
    readings.keep(QUESTION, READ)
    assert readings.of(QUESTION) == READ
    for other in (replace(QUESTION, attempt=4), replace(QUESTION, stable=None), later):
        assert readings.of(other) == Reading(Start(other.since))
    readings.keep(later, replace(READ, start=Start(later.since)))
    assert readings.of(QUESTION) == FRESH


def test_a_step_that_nobody_asks_for_any_more_is_forgotten() -> None:
    readings = Readings()
    readings.keep(QUESTION, READ)
    readings.keep(replace(QUESTION, rollout_uid="other", now=QUESTION.now + timedelta(minutes=4)), READ)
    assert readings.of(QUESTION) == READ
    readings.keep(replace(QUESTION, rollout_uid="other", now=QUESTION.now + timedelta(minutes=6)), READ)
    assert readings.of(QUESTION) == FRESH


def test_of_many_rollouts_the_one_that_was_asked_for_longest_ago_is_forgotten() -> None:
    readings = Readings()
    for number in range(257):
        readings.keep(replace(QUESTION, rollout_uid=f"{number}"), READ)
    known = [readings.of(replace(QUESTION, rollout_uid=f"{number}")) == READ for number in range(257)]
    assert known == [False] + [True] * 256
