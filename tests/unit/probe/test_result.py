from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.api.v1alpha1.probe import ProbeResult, SelfCheck, StageResult
from chaffinch.probe.result import (
    MAX_RESULT_BYTES,
    GeneratorFigures,
    ProbeRecord,
    ResultError,
    StageRecord,
    WarmUpRecord,
    parse_record,
    status_result,
    warm_up_problem,
)

STAGE = StageRecord(
    name="gate",
    concurrency=4,
    planned=200,
    requests=150,
    errors=2,
    errors_by_kind={"error_cut": 2},
    prompt_tokens=1480,
    cached_tokens=0,
    output_tokens=740,
    unknown_tokens=0,
    output_tokens_per_1000_seconds=74_000,
    duration_millis=10_000,
    stopped="20 requests in a row failed",
    sketches=Sketches(ttft="100:148 547:2", e2e="120:148 547:2", tpot="60:150"),
    itl="60:592",
    self_check=SelfCheck(passed=True),
    generator=GeneratorFigures(lag_p99_micros=900, cpu_permille=120, mean_concurrency_milli=3980),
)
RECORD = ProbeRecord(
    probe_uid="u",
    attempt=1,
    engine_version="0.33.0",
    warm_up=WarmUpRecord(requests=20, errors=0),
    stages=(STAGE,),
)


def test_the_status_keeps_what_verdicts_are_reached_from() -> None:
    assert status_result(RECORD) == ProbeResult(
        engine_version="0.33.0",
        stages=(
            StageResult(
                name="gate",
                concurrency=4,
                requests=150,
                errors=2,
                errors_by_kind={"error_cut": 2},
                prompt_tokens=1480,
                output_tokens=740,
                duration_millis=10_000,
                complete=False,
                sketches=STAGE.sketches,
                self_check=SelfCheck(passed=True),
            ),
        ),
    )


def test_the_text_of_a_record_is_one_text() -> None:
    text = RECORD.to_json()
    assert parse_record(text, probe_uid="u", attempt=1) == RECORD
    assert parse_record(text, probe_uid="u", attempt=1).to_json() == text


NOT_OURS = {
    "another probe": (RECORD.to_json(), "v", 1, "belongs to another probe or attempt"),
    "another attempt": (RECORD.to_json(), "u", 2, "belongs to another probe or attempt"),
    "no JSON": ("<html>secret</html>", "u", 1, "the worker's result is not valid: result"),
    "a float": (
        RECORD.to_json().replace('"requests":150', '"requests":150.0'),
        "u",
        1,
        "the worker's result is not valid: stages.0.requests",
    ),
    "too much": (" " * (MAX_RESULT_BYTES + 1), "u", 1, "more than 262144 bytes"),
}


@pytest.mark.parametrize(("text", "uid", "attempt", "want"), NOT_OURS.values(), ids=NOT_OURS)
def test_a_result_that_is_not_the_asked_for_one_is_refused(
    text: str, uid: str, attempt: int, want: str
) -> None:
    with pytest.raises(ResultError) as caught:
        parse_record(text, probe_uid=uid, attempt=attempt)
    assert want in str(caught.value)
    assert "secret" not in str(caught.value), "no remote text in messages"


WARM = {
    "all went well": (WarmUpRecord(requests=20, errors=0), None),
    "a few failed": (WarmUpRecord(requests=20, errors=9, errors_by_kind={"error_cut": 9}), None),
    "half failed": (
        WarmUpRecord(requests=20, errors=10, errors_by_kind={"error_cut": 3, "error_5xx": 7}),
        "10 of 20 warm-up requests failed (error_5xx 7, error_cut 3)",
    ),
    "two targets never answered": (
        WarmUpRecord(requests=20, errors=5, cold=("http://10.0.0.2:8000", "http://10.0.0.3:8000")),
        "no warm-up request went well at http://10.0.0.2:8000, http://10.0.0.3:8000",
    ),
    "none ended": (WarmUpRecord(requests=0, errors=0), "no warm-up request ended"),
    "there was none": (None, "no warm-up request ended"),
}


@pytest.mark.parametrize(("warm_up", "want"), WARM.values(), ids=WARM)
def test_targets_are_warm_if_most_of_the_warm_up_went_well_on_each_of_them(
    warm_up: WarmUpRecord | None, want: str | None
) -> None:
    assert warm_up_problem(RECORD.model_copy(update={"warm_up": warm_up})) == want
