from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chaffinch.ports.cluster import Kinds, UnavailableError
from chaffinch.runtime.lease import Lease, LeaseTerms
from fakes.cluster import FakeCluster, Key
from fakes.virtual_time import START, LoopClock, run

DURATION = 15


def _lease(cluster: FakeCluster, identity: str = "a") -> Lease:
    return Lease(cluster, LoopClock(), LeaseTerms("chaffinch-system", "chaffinch", identity, DURATION))


def _spec(cluster: FakeCluster) -> dict[str, Any]:
    spec: dict[str, Any] = cluster.read(Kinds.LEASE, "chaffinch-system", "chaffinch")["spec"]
    return spec


def test_the_first_leader_creates_the_lease_with_an_epoch_that_a_deleted_one_cannot_reach() -> None:
    async def story() -> None:
        cluster, clock = FakeCluster(), LoopClock()
        lease = _lease(cluster)
        assert (lease.epoch, lease.seconds_left()) == (0, float("-inf"))
        await lease.acquire()
        assert lease.epoch == int(START.timestamp() // 60)
        assert lease.seconds_left() == DURATION
        assert _spec(cluster) == {
            "holderIdentity": "a",
            "leaseDurationSeconds": DURATION,
            "acquireTime": "2026-03-01T14:00:00.000000Z",
            "renewTime": "2026-03-01T14:00:00.000000Z",
            "leaseTransitions": lease.epoch,
        }
        assert clock.monotonic() == 0

    run(story())


def test_a_leader_renews_for_ever() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        lease = _lease(cluster)
        await lease.acquire()
        keeping = asyncio.create_task(lease.keep())
        await asyncio.sleep(3601)
        assert not keeping.done()
        assert lease.seconds_left() >= DURATION * 2 / 3
        assert cluster.writes() == {"create Lease": 1, "update Lease": 3600 // 5}
        keeping.cancel()

    run(story())


def test_a_follower_takes_over_when_the_leader_is_silent_for_the_whole_duration() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        first, second = _lease(cluster, "a"), _lease(cluster, "b")
        await first.acquire()
        await asyncio.sleep(4)
        await second.acquire()
        taken_at = LoopClock().monotonic()
        assert first.seconds_left() < 0
        assert 4 + DURATION <= taken_at <= 4 + DURATION + 5
        assert second.epoch == first.epoch + 1
        assert _spec(cluster)["holderIdentity"] == "b"

    run(story())


def test_a_follower_waits_for_as_long_as_the_leader_renews() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        first, second = _lease(cluster, "a"), _lease(cluster, "b")
        await first.acquire()
        keeping = asyncio.create_task(first.keep())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(300):
                await second.acquire()
        keeping.cancel()

    run(story())


def test_a_released_lease_is_taken_within_three_seconds() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        first, second = _lease(cluster, "a"), _lease(cluster, "b")
        await first.acquire()
        epoch = first.epoch
        waiting = asyncio.create_task(second.acquire())
        await asyncio.sleep(1.9)
        await first.release()
        released_at = LoopClock().monotonic()
        await waiting
        assert LoopClock().monotonic() - released_at <= 3
        assert second.epoch == epoch + 1
        assert first.seconds_left() == float("-inf")

    run(story())


def test_a_leader_without_an_api_server_gives_up_before_anybody_may_take_over() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        lease = _lease(cluster)
        await lease.acquire()
        cluster.fault = lambda verb, _: UnavailableError("down") if verb != "none" else None
        await lease.keep()
        assert LoopClock().monotonic() == pytest.approx(DURATION, abs=2.1)
        assert lease.seconds_left() == float("-inf")

    run(story())


def test_a_short_outage_costs_nothing() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        lease = _lease(cluster)
        await lease.acquire()
        keeping = asyncio.create_task(lease.keep())

        def outage(verb: str, key: Key) -> BaseException | None:
            del verb, key
            return UnavailableError("down") if 4 < LoopClock().monotonic() < 12 else None

        cluster.fault = outage
        await asyncio.sleep(60)
        assert not keeping.done()
        assert lease.seconds_left() > 0
        keeping.cancel()

    run(story())


def test_a_paused_leader_finds_that_it_was_replaced_and_stops() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        first, second = _lease(cluster, "a"), _lease(cluster, "b")
        await first.acquire()
        await second.acquire()  # the first one sleeps through its whole term
        assert first.seconds_left() <= 0
        await first.keep()
        assert _spec(cluster)["holderIdentity"] == "b"
        assert (first.epoch, first.seconds_left()) == (0, float("-inf"))

    run(story())


def test_a_deleted_lease_ends_leadership() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        lease = _lease(cluster)
        await lease.acquire()
        cluster.objects.clear()
        await lease.keep()
        assert lease.seconds_left() == float("-inf")

    run(story())


def test_of_two_that_start_together_one_leads() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        cluster.delay = 0.05
        leases = [_lease(cluster, name) for name in "ab"]
        waiting = [asyncio.create_task(lease.acquire()) for lease in leases]
        await asyncio.sleep(1)
        assert [task.done() for task in waiting].count(True) == 1
        for task in waiting:
            task.cancel()

    run(story())


def test_the_fence_stands_at_the_end_of_the_term_and_falls_when_it_is_given_up() -> None:
    async def story() -> list[tuple[float, float]]:
        cluster = FakeCluster()
        told: list[tuple[float, float]] = []
        terms = LeaseTerms("system", "chaffinch", "a", DURATION)
        lease = Lease(cluster, LoopClock(), terms, lambda left: told.append((LoopClock().monotonic(), left)))
        await lease.acquire()
        keeping = asyncio.create_task(lease.keep())
        await asyncio.sleep(DURATION * 0.9)
        keeping.cancel()
        await lease.release()
        return told

    told = run(story())
    assert told == [(0, 15), (5, 15), (10, 15), (DURATION * 0.9, 0)]
