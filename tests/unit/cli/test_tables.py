from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.step_status import ObjectiveStatus, ObjectiveVerdict
from chaffinch.cli.tables import limit_of


@pytest.mark.parametrize(
    ("limit", "ruled_out", "want"),
    [("0.30%", "0.60%", "0.30% (<0.60%)"), ("0.30%", None, "0.30%"), (None, None, "")],
    ids=["proven", "not proven", "without a limit"],
)
def test_a_limit_is_shown_with_the_bound_that_a_pass_rules_out(
    limit: str | None, ruled_out: str | None, want: str
) -> None:
    figures = ObjectiveStatus(
        name="errors", verdict=ObjectiveVerdict.PASS, reason="Sufficient", limit=limit, ruled_out=ruled_out
    )
    assert limit_of(figures) == want
