"""A pass that fails again and again pays for its requests with patience."""

from __future__ import annotations

import asyncio

from chaffinch.ports.cluster import ConflictError
from chaffinch.runtime.loop import GONE, Outcome, Pace, Watch, look_after
from chaffinch.runtime.spending import begin, counted
from chaffinch.runtime.wake import Wake
from fakes.virtual_time import run

PACE = Pace(spacing=1, first_backoff=1, longest_backoff=30, request_price=3)


def _nowhere(verb: str, kind: str, code: str, seconds: float) -> None:
    del verb, kind, code, seconds


def _passes(requests: int, failures: int) -> list[float]:
    """Return when an object has passes whose first passes fail after so many requests."""
    times: list[float] = []
    report = counted(_nowhere)

    async def one_pass() -> Outcome:
        times.append(asyncio.get_running_loop().time())
        for _ in range(requests):
            report("get", "Pod", "200", 0.1)
        if len(times) <= failures:
            raise ConflictError("somebody else wrote in between")
        return GONE

    run(look_after(one_pass, Wake(), pace=PACE, chance=lambda: 1.0, watch=Watch(), fields={}))
    return times


def test_a_single_failure_is_tried_again_at_once_whatever_it_cost() -> None:
    assert _passes(requests=10, failures=1) == [0, 1]


def test_from_the_second_failure_on_each_request_costs_three_seconds_up_to_a_minute() -> None:
    assert _passes(requests=4, failures=3) == [0, 1, 13, 25]
    assert _passes(requests=12, failures=3) == [0, 1, 37, 73]
    assert _passes(requests=40, failures=3) == [0, 1, 61, 121]


def test_where_the_first_request_fails_the_pause_grows_as_usual() -> None:
    assert _passes(requests=1, failures=5) == [0, 1, 4, 8, 16, 32]


def test_requests_outside_of_a_pass_are_reported_and_count_for_nobody() -> None:
    told: list[tuple[str, str, str, float]] = []
    report = counted(lambda *request: told.append(request))
    report("get", "Lease", "200", 0.1)
    spent = begin()
    report("list", "Pod", "503", 0.2)
    assert told == [("get", "Lease", "200", 0.1), ("list", "Pod", "503", 0.2)]
    assert spent.requests == 1


def test_requests_count_in_whatever_thread_they_are_sent() -> None:
    async def story() -> int:
        spent = begin()
        await asyncio.to_thread(counted(_nowhere), "get", "Pod", "200", 0.1)
        return spent.requests

    assert asyncio.run(story()) == 1
