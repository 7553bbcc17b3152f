"""Nine samples are no P95: neither a good run is passed nor a bad one rolled back."""

from __future__ import annotations

import pytest

from chaffinch.domain.grid import EDGES_SECONDS
from chaffinch.domain.verdict import EvidenceReason, JudgeState, Level, Outcome, judge
from chaffinch.domain.verdict.checks import failing_of
from unit.verdict.builders import arm, at, evidence, latency_max, plan

RUNS = {
    "good": [0.898, 0.896, 0.859, 0.814, 0.911, 0.928, 0.871, 0.850, 0.968],
    "bad": [0.914, 0.822, 2.186, 0.864, 0.902, 10.239, 10.122, 9.658, 1.017],
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("level", list(Level))
def test_nine_samples_decide_nothing_and_the_message_says_what_is_needed(run: str, level: Level) -> None:
    seen = evidence(arm(9, seconds=RUNS[run]))
    judgement = judge(plan(latency_max(1.586), require=level, final=True), seen, None, JudgeState(), at(10))
    assert (judgement.outcome, judgement.reason) == (Outcome.INCONCLUSIVE, EvidenceReason.BELOW_FLOOR)
    assert failing_of(judgement.verdicts) is None
    verdict = judgement.verdicts[0]
    assert verdict.candidate == 9
    assert "n 9: undecided, needs 150 per arm" in judgement.detail
    low, high = verdict.interval
    assert low in {None, *EDGES_SECONDS}
    assert high is None  # nine samples bound no P95 from above
