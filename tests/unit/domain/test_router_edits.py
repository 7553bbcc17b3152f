from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import ForeignEdit, Observation
from chaffinch.domain.router_edits import counted, left_alone, may_mend, route_object
from chaffinch.domain.state import RouterEdits
from chaffinch.domain.timing import Timing

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TIMING = Timing(router_edits=5, router_quiet=900)
ROUTE, SERVICE = "ConfigMap/chat-router", "Service/chat"
EDIT = ForeignEdit(ROUTE, "gitops")


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def known(count: int, seconds_ago: float, fight_seconds: float | None = None) -> RouterEdits:
    since = None if fight_seconds is None else ago(fight_seconds)
    return RouterEdits(count, ago(seconds_ago), SERVICE, "kubectl-edit", since)


def now_is(count: int, fight_since: datetime | None = None) -> RouterEdits:
    return RouterEdits(count, NOW, ROUTE, "gitops", fight_since)


@pytest.mark.parametrize(
    ("before", "edits", "want", "mends"),
    [
        (None, (), None, True),
        (None, (EDIT,), now_is(1), True),
        (None, (EDIT, ForeignEdit(SERVICE)), now_is(1), True),
        (known(1, 1), (EDIT,), now_is(2), True),
        (known(1, 899), (EDIT,), now_is(2), True),
        (known(1, 900), (EDIT,), now_is(1), True),
        (known(1, 899), (), known(1, 899), True),
        (known(1, 900), (), None, True),
        (known(3, 1), (EDIT,), now_is(4), True),
        (known(4, 1), (EDIT,), now_is(5, NOW), True),
        (known(4, 900), (EDIT,), now_is(1), True),
        (known(5, 1, 60), (EDIT,), known(5, 1, 60), False),
        (known(5, 899, 899), (EDIT,), known(5, 899, 899), False),
        (known(5, 900, 5_000), (EDIT,), now_is(5, ago(5_000)), True),
        (known(5, 899, 899), (), known(5, 899, 899), False),
        (known(5, 900, 900), (), None, True),
    ],
)
def test_rounds_in_a_row_are_counted_and_the_last_one_is_a_fight(
    before: RouterEdits | None, edits: tuple[ForeignEdit, ...], want: RouterEdits | None, mends: bool
) -> None:
    assert counted(before, edits, NOW, TIMING) == want
    assert may_mend(before, NOW, TIMING) is mends


def test_what_is_edited_is_left_alone_only_if_it_is_not_put_back() -> None:
    seen = Observation(RolloutIdentity("llm", "chat", "uid"), edited=(EDIT, ForeignEdit(SERVICE)))
    assert left_alone(seen, mends=True) == frozenset()
    assert left_alone(seen, mends=False) == {ROUTE, SERVICE}
    assert left_alone(replace(seen, edited=()), mends=False) == frozenset()
    assert route_object(seen.rollout) == ROUTE
