"""Which kills of a sweep count as done."""

from __future__ import annotations

import pytest

from crash.sweep import Cut, CutPoint, Ending, Result, unreached

FIRST = CutPoint(Ending.PROMOTED, 1, Cut.BEFORE_SEND)
LAST = CutPoint(Ending.PROMOTED, 66, Cut.BEFORE_SEND)


def tried(point: CutPoint, *, reached: bool) -> Result:
    return Result(point, reached, ())


@pytest.mark.parametrize(
    ("results", "want"),
    [
        ([tried(FIRST, reached=True), tried(LAST, reached=True)], []),
        ([tried(FIRST, reached=True), tried(LAST, reached=False)], [LAST]),
        ([tried(LAST, reached=False), tried(FIRST, reached=True), tried(LAST, reached=True)], []),
        ([tried(LAST, reached=False), tried(LAST, reached=False)], [LAST]),
    ],
)
def test_a_write_that_no_run_got_to_was_not_killed_at(results: list[Result], want: list[CutPoint]) -> None:
    assert unreached(results) == want
