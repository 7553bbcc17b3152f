"""NaN, an empty reply or a zero control must not be read as good: the part that the judge decides.

How each kind of broken reply is refused is tested where replies are read, in
``unit/adapters/test_prometheus.py``.
"""

from __future__ import annotations

import pytest

from chaffinch.domain.evidence import ArmEvidence, Evidence, NoEvidence, Problem
from chaffinch.domain.verdict import EvidenceReason, Judgement, JudgeState, Level, Outcome, judge
from unit.verdict.builders import at, error_increase, error_max, plan


def judged(candidate: tuple[int, int], control: tuple[int, int], level: Level, *, max_too: bool) -> Judgement:
    gates = (error_max(), error_increase()) if max_too else (error_increase(),)
    seen = Evidence(ArmEvidence(*candidate), ArmEvidence(*control), at(10))
    return judge(plan(*gates, require=level), seen, None, JudgeState(), at(10))


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("max_too", [True, False])
def test_a_control_without_a_failure_is_a_number_and_not_missing(level: Level, max_too: bool) -> None:
    judgement = judged((1000, 60), (5000, 0), level, max_too=max_too)
    assert judgement.outcome is Outcome.FAIL
    assert judgement.verdicts[-1].value == 0.06
    assert judgement.verdicts[-1].control == 0.0


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("max_too", [True, False])
def test_nothing_of_nothing_is_inconclusive(level: Level, max_too: bool) -> None:
    judgement = judged((0, 0), (0, 0), level, max_too=max_too)
    assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.NO_DATA)
    assert judgement.verdicts[-1].value is None


@pytest.mark.parametrize("level", list(Level))
def test_a_control_without_a_request_proves_no_increase_and_no_absence_of_one(level: Level) -> None:
    for candidate in ((1000, 0), (1000, 60)):
        judgement = judged(candidate, (0, 0), level, max_too=False)
        assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.NO_DATA)


@pytest.mark.parametrize("problem", list(Problem))
@pytest.mark.parametrize("level", list(Level))
def test_a_reply_that_was_refused_advances_nothing_and_its_reason_is_told(
    problem: Problem, level: Level
) -> None:
    refused = NoEvidence(problem, "which check failed")
    judgement = judge(plan(error_max(), require=level), refused, None, JudgeState(), at(10))
    assert judgement.outcome is Outcome.INCONCLUSIVE
    assert judgement.reason == problem.value
    assert judgement.detail == "which check failed"


def test_a_sample_of_six_minutes_ago_is_stale() -> None:
    old = Evidence(ArmEvidence(5000, 0), ArmEvidence(5000, 0), at(4))
    judgement = judge(plan(error_max()), old, None, JudgeState(), at(10))
    assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.STALE_DATA)


def test_more_errors_than_requests_cannot_be() -> None:
    with pytest.raises(ValueError, match="cannot be"):
        ArmEvidence(5, 6)
