"""The demo says where an attempt is, from its status alone."""

from collections.abc import Mapping
from typing import Any

import pytest

from demo.scenes import whereabouts


@pytest.mark.parametrize(
    ("attempt", "line"),
    [
        ({}, ""),
        ({"stage": "Deploying"}, "the canary's pods start and are warmed up"),
        ({"stage": "Stepping", "step": {"index": 1, "of": 5, "name": "probe"}}, "step 2/5 probe"),
        ({"stage": "RollingBack"}, ""),
    ],
)
def test_an_attempt_is_told_by_its_step_or_by_what_comes_before_the_first(
    attempt: Mapping[str, Any], line: str
) -> None:
    assert whereabouts(attempt) == line
