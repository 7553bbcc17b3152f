from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.step_status import ObjectiveStatus, ObjectiveVerdict
from chaffinch.cli.tables import limit_of


@pytest.mark.parametrize(
    ("limit", "ruled_out", "want"),
    [("0.30%", "0.60%", "0.30% (<0.60%)"), ("0.30%", None, "0.30% (not proven)"), (None, None, "")],
    ids=["proven", "no harm", "without a limit"],
)
def test_a_limit_is_shown_with_how_far_a_pass_proves_it(
    limit: str | None, ruled_out: str | None, want: str
) -> None:
    figures = ObjectiveStatus(
        name="errors", verdict=ObjectiveVerdict.PASS, reason="Sufficient", limit=limit, ruled_out=ruled_out
    )
    assert limit_of(figures) == want


@pytest.mark.parametrize("verdict", [ObjectiveVerdict.FAIL, ObjectiveVerdict.INCONCLUSIVE])
def test_only_of_a_pass_it_is_said_how_far_it_is_proven(verdict: ObjectiveVerdict) -> None:
    figures = ObjectiveStatus(name="errors", verdict=verdict, reason="Judging", limit="0.30%")
    assert limit_of(figures) == "0.30%"
