from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, Outcome
from chaffinch.domain.machine import step
from chaffinch.domain.observation import RouterSeen
from chaffinch.domain.route import Decision
from chaffinch.domain.state import LastAttempt
from unit.domain.states import AT_CANARY, NEW, NOW, OLD, PROMOTED, ROLLING_BACK, SEEN, SPEC

MINUTE = timedelta(minutes=1)


def waited(minutes: float, revision: str = NEW) -> LastAttempt:
    """An attempt that found no room and waited so long, until 20 minutes ago."""
    again = NOW - 20 * MINUTE
    ended = again - minutes * MINUTE
    return LastAttempt(revision, 1, Outcome.ROLLED_BACK, "Unschedulable", ended, again_at=again)


def again_in(
    cause: str, before: LastAttempt | None = None, started: timedelta = -10 * MINUTE
) -> timedelta | None:
    """How long a revision waits after an attempt that began a while ago and ends now."""
    decision = Decision(DecisionKind.ROLLBACK, cause, NOW)
    candidate = replace(AT_CANARY, weight=0, decision=decision, started_at=NOW + started)
    state = replace(ROLLING_BACK, candidate=candidate, last_attempt=before)
    last = step(SPEC, state, replace(SEEN, router=RouterSeen()), None, NOW).state.last_attempt
    assert last is not None
    assert (last.revision, last.cause) == (NEW, cause)
    return None if last.again_at is None else last.again_at - NOW


@pytest.mark.parametrize("cause", ["ObjectiveFailed", "Aborted", "CrashLoop", "Superseded"])
def test_what_its_surroundings_are_not_to_blame_for_is_not_tried_again_by_itself(cause: str) -> None:
    assert again_in(cause, waited(5)) is None


@pytest.mark.parametrize("cause", ["Unschedulable", "CanaryUnavailable"])
@pytest.mark.parametrize(
    ("before", "want"),
    [
        (None, 5),
        (PROMOTED, 5),
        (waited(5, OLD), 5),
        (waited(5), 10),
        (waited(10), 20),
        (waited(40), 60),
        (waited(60), 60),
    ],
    ids=["first", "another end", "another revision", "second", "third", "fifth", "later ones"],
)
def test_trouble_of_its_surroundings_is_waited_with_for_twice_as_long_each_time(
    cause: str, before: LastAttempt | None, want: int
) -> None:
    assert again_in(cause, before) == want * MINUTE


def test_an_attempt_that_a_person_had_started_waits_no_longer_for_those_before_it() -> None:
    assert again_in("Unschedulable", waited(40), started=-21 * MINUTE) == 5 * MINUTE
