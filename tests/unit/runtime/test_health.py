from __future__ import annotations

import pytest

from chaffinch.runtime.health import Health
from chaffinch.runtime.hub import Subject, SubjectKind

CHAT = Subject(SubjectKind.ROLLOUT, "shop", "chat", "uid-1")
CODE = Subject(SubjectKind.ROLLOUT, "shop", "code", "uid-2")


class HandClock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def health(clock: HandClock) -> Health:
    return Health(clock, longest_pass=180)  # type: ignore[arg-type]


def test_a_standby_is_healthy_without_a_lease(health: Health) -> None:
    report = health.report(lease_seconds_left=float("-inf"))
    assert report.healthy
    assert report.details == {
        "leading": False,
        "leaseSecondsLeft": None,
        "watchSecondsAgo": None,
        "oldestPassSeconds": 0.0,
        "passesRunning": 0,
    }


def test_a_leader_is_healthy_for_as_long_as_it_holds_the_lease(health: Health) -> None:
    health.leading = True
    assert health.report(lease_seconds_left=4.04).details["leaseSecondsLeft"] == 4.0
    assert health.report(lease_seconds_left=0.1).healthy
    assert not health.report(lease_seconds_left=0.0).healthy


def test_a_pass_that_hangs_makes_the_process_unhealthy(health: Health, clock: HandClock) -> None:
    health.pass_began(CHAT)
    clock.seconds += 100
    health.pass_began(CODE)
    clock.seconds += 79
    assert health.report(10).details["oldestPassSeconds"] == 179.0
    assert health.report(10).healthy
    clock.seconds += 1
    assert not health.report(10).healthy
    health.pass_ended(CHAT)
    assert health.report(10).healthy
    assert health.report(10).details["passesRunning"] == 1


def test_the_age_of_the_last_watch_event_is_told(health: Health, clock: HandClock) -> None:
    health.watch_event()
    clock.seconds += 7
    assert health.report(10).details["watchSecondsAgo"] == 7.0
