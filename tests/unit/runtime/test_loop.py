from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from chaffinch.ports.cluster import UnavailableError
from chaffinch.runtime.loop import GONE, Outcome, Pace, Watch, look_after
from chaffinch.runtime.wake import Wake
from fakes.virtual_time import run

PACE = Pace(spacing=1, first_backoff=1, longest_backoff=30, pass_timeout=10)
FIELDS = {"kind": "rollout", "namespace": "shop", "rollout": "chat"}


def _time() -> float:
    return asyncio.get_running_loop().time()


async def _passes(
    one_pass: Callable[[int], Awaitable[Outcome]],
    wake: Wake | None = None,
    until: float = 1000,
    chance: float = 1.0,
) -> list[float]:
    """Return at which times the object had a pass."""
    times: list[float] = []

    async def counted() -> Outcome:
        times.append(_time())
        return await one_pass(len(times))

    task = asyncio.create_task(
        look_after(counted, wake or Wake(), pace=PACE, chance=lambda: chance, watch=Watch(), fields=FIELDS)
    )
    await asyncio.wait([task], timeout=until)
    task.cancel()
    return times


def test_the_next_pass_is_when_the_last_one_says() -> None:
    async def one_pass(number: int) -> Outcome:
        return GONE if number == 4 else Outcome(again_in=5)

    assert run(_passes(one_pass)) == [0, 5, 10, 15]


def test_an_event_ends_the_wait_but_passes_keep_their_distance() -> None:
    async def story() -> list[float]:
        wake = Wake()

        async def one_pass(number: int) -> Outcome:
            wake.set()  # as if each pass caused an event
            return GONE if number == 4 else Outcome(again_in=60)

        return await _passes(one_pass, wake)

    assert run(story()) == [0, 1, 2, 3]


def test_an_urgent_event_does_not_wait_for_that_distance_but_for_the_pause_after_a_failure() -> None:
    async def story() -> list[float]:
        wake = Wake()

        async def one_pass(number: int) -> Outcome:
            if number in (1, 3):
                wake.set_at_once()
            if number == 3:
                raise UnavailableError("the API server cannot be reached")
            return GONE if number == 5 else Outcome(again_in=7)

        return await _passes(one_pass, wake)

    assert run(story()) == [0, 0, 7, 8, 15]


def test_a_pause_between_tries_is_not_shortened() -> None:
    async def one_pass(number: int) -> Outcome:
        return GONE if number == 4 else Outcome(again_in=30, exactly=number != 2)

    assert run(_passes(one_pass, chance=0.0)) == [0, 30, 45, 75]


def test_only_a_long_pause_is_spread() -> None:
    assert [PACE.pause(8, chance) for chance in (0.0, 1.0)] == [8, 8]
    assert [PACE.pause(600, chance) for chance in (0.0, 0.5, 1.0)] == [300, 450, 600]


def test_failures_back_off_to_the_longest_pause_and_success_forgets_them() -> None:
    async def one_pass(number: int) -> Outcome:
        if number <= 7:
            raise UnavailableError("the API server cannot be reached")
        return GONE if number == 9 else Outcome(again_in=1)

    # pauses of 1, 2, 4, 8, 16, 30 and 30 seconds, then 1
    assert run(_passes(one_pass)) == [0, 1, 3, 7, 15, 31, 61, 91, 92]


def test_events_do_not_shorten_the_pause_after_a_failure() -> None:
    async def story() -> list[float]:
        wake = Wake()

        async def one_pass(_: int) -> Outcome:
            wake.set()
            raise UnavailableError("the API server cannot be reached")

        return await _passes(one_pass, wake, until=10)

    assert run(story()) == [0, 1, 3, 7]


def test_jitter_spreads_pauses_between_half_and_whole() -> None:
    assert [PACE.backoff(5, chance) for chance in (0.0, 0.5, 1.0)] == [8, 12, 16]
    assert PACE.backoff(1, 0.0) == PACE.spacing


def test_a_pass_that_hangs_is_cut_off_and_counts_as_a_failure() -> None:
    async def one_pass(number: int) -> Outcome:
        if number == 1:
            await asyncio.sleep(3600)
        return GONE

    assert run(_passes(one_pass)) == [0, 11]


def test_one_bad_object_does_not_delay_another() -> None:
    async def story() -> tuple[list[float], list[float]]:
        async def bad(number: int) -> Outcome:
            raise ZeroDivisionError(f"poison {number}")

        async def good(number: int) -> Outcome:
            return GONE if number == 10 else Outcome(again_in=2)

        both = await asyncio.gather(_passes(bad, until=100), _passes(good, until=100))
        return both[0], both[1]

    bad, good = run(story())
    assert good == [2.0 * i for i in range(10)]
    assert len(bad) == 8  # after 0, 1, 3, 7, 15, 31, 61, 91 seconds


def test_the_text_of_a_foreign_error_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def one_pass(number: int) -> Outcome:
        if number == 1:
            raise ValueError("token=s3cr3t from a remote body")
        return GONE

    caplog.set_level(logging.DEBUG, "chaffinch")
    run(_passes(one_pass))
    (record,) = caplog.records
    assert record.getMessage().startswith("the pass failed with ValueError at loop.py:")
    assert "s3cr3t" not in record.getMessage()
    assert record.exc_info is None


def test_our_own_errors_are_logged_with_the_object(caplog: pytest.LogCaptureFixture) -> None:
    async def one_pass(number: int) -> Outcome:
        if number == 1:
            raise UnavailableError("get Pod shop/x: the API server cannot be reached")
        return GONE

    run(_passes(one_pass))
    (record,) = caplog.records
    assert record.getMessage() == "the pass failed: get Pod shop/x: the API server cannot be reached"
    assert (vars(record)["namespace"], vars(record)["rollout"]) == ("shop", "chat")


def test_cancelling_ends_the_loop_at_once() -> None:
    async def story() -> float:
        async def one_pass() -> Outcome:
            await asyncio.sleep(5)
            return GONE

        task = asyncio.create_task(
            look_after(one_pass, Wake(), pace=PACE, chance=lambda: 1.0, watch=Watch(), fields=FIELDS)
        )
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return _time()

    assert run(story()) == 1


def test_only_so_many_objects_are_looked_at_at_the_same_time_and_each_gets_its_turn() -> None:
    seen: set[int] = set()
    now = most = 0

    async def story() -> None:
        turns = asyncio.Semaphore(3)

        def task(number: int) -> asyncio.Task[None]:
            async def one_pass() -> Outcome:
                nonlocal now, most
                now, most = now + 1, max(most, now + 1)
                await asyncio.sleep(100)
                now -= 1
                seen.add(number)
                return GONE

            return asyncio.create_task(
                look_after(
                    one_pass,
                    Wake(),
                    pace=Pace(pass_timeout=120),
                    chance=lambda: 0.5,
                    watch=Watch(),
                    fields=FIELDS,
                    turns=turns,
                )
            )

        await asyncio.gather(*(task(number) for number in range(10)))

    run(story())
    assert (most, seen) == (3, set(range(10)))
