"""Two operators and one Lease: one writes, the other is ready to, and they never write at the same time."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from crash.operator_process import OperatorProcess
from crash.playground import Playground
from crash.rollouts import FIRST, GOOD, service
from faultproxy import FaultProxy
from faultproxy.journal import Entry, writes
from stage.service import Service

LEASE_SECONDS = 15
CLEAN_SECONDS = 3.0
HARD_SECONDS = LEASE_SECONDS + 5.0
ROUND_LEASE_SECONDS = 3  # the shortest, for many rounds
ROUND_SECONDS = ROUND_LEASE_SECONDS + 5.0
REPLACED = (3, -signal.SIGALRM)
"""How a process ends that has lost the Lease: by itself, or because it slept over its end."""

_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Replica:
    """One of the operators: its process, and the proxy that nobody else uses."""

    process: OperatorProcess
    proxy: FaultProxy

    def writes_since(self, moment: float) -> list[Entry]:
        """Return what it has written since a moment; not the Lease, and not what was refused."""
        done = writes(self.proxy.journal.entries)
        return [one for one in done if one.at >= moment and one.applied and one.call.resource != "leases"]

    def led_since(self, moment: float) -> float | None:
        """Return when it first wrote the Lease since a moment; None if it did not."""
        done = [one for one in self.proxy.journal.entries if one.at >= moment and one.applied]
        return next((one.at for one in writes(done) if one.call.resource == "leases"), None)


@contextmanager
def two_replicas(
    playground: Playground, namespace: str, lease_seconds: int
) -> Iterator[tuple[Replica, Replica]]:
    """Start two operators; the first leads, the second is ready."""
    settings = {
        "CHAFFINCH_LEASE_DURATION": str(lease_seconds),
        "CHAFFINCH_WATCH_NAMESPACES": namespace,
        "CHAFFINCH_LEASE_NAME": f"replicas-{lease_seconds}",
    }
    with (
        playground.proxy() as one_proxy,
        playground.proxy() as two_proxy,
        playground.operator(one_proxy, "one", **settings) as one,
        playground.operator(two_proxy, "two", **settings) as two,
    ):
        first, second = Replica(one, one_proxy), Replica(two, two_proxy)
        one.start()
        until(lambda: first.led_since(0) is not None, "the first leads", seconds=60)
        two.start()
        two.until_ready()
        yield first, second


def until(holds: Callable[[], bool], what: str, *, seconds: float) -> float:
    """Wait until something is so; return how long that took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() < began + seconds, f"not so after {seconds:.0f} s: {what}"
        time.sleep(_POLL_SECONDS)
    return time.monotonic() - began


def test_a_clean_hand_over_takes_a_moment(playground: Playground) -> None:
    with (
        playground.namespace() as namespace,
        two_replicas(playground, namespace, LEASE_SECONDS) as (leader, standby),
    ):
        playground.until_stable(service(namespace, FIRST))
        asked = time.monotonic()
        assert leader.process.terminate() == 0
        until(lambda: standby.led_since(asked) is not None, "the standby leads", seconds=30)
        led = standby.led_since(asked)
        assert led is not None
        print(f"clean hand-over: {led - asked:.1f} s from the signal to the next leader")
        assert led - asked <= CLEAN_SECONDS
        playground.apply(service(namespace, GOOD))
        playground.until_attempt_ends(namespace, 2)


@pytest.mark.full
def test_a_standby_takes_over_from_a_leader_that_was_killed(playground: Playground) -> None:
    with (
        playground.namespace() as namespace,
        two_replicas(playground, namespace, LEASE_SECONDS) as (leader, standby),
    ):
        playground.until_stable(service(namespace, FIRST))
        killed = time.monotonic()
        leader.process.kill()
        until(lambda: standby.led_since(killed) is not None, "the standby leads", seconds=60)
        led = standby.led_since(killed)
        assert led is not None
        print(f"hard take-over: {led - killed:.1f} s after the kill, lease {LEASE_SECONDS} s")
        assert led - killed <= HARD_SECONDS


@pytest.mark.parametrize("rounds", [3, pytest.param(50, marks=pytest.mark.full)])
def test_a_leader_that_slept_writes_nothing_after_the_next_one_has(
    playground: Playground, rounds: int
) -> None:
    """In each round the leader is put to sleep in the middle of an attempt, and woken when another leads."""
    with (
        playground.namespace() as namespace,
        two_replicas(playground, namespace, ROUND_LEASE_SECONDS) as replicas,
    ):
        playground.until_stable(service(namespace, FIRST))
        take_overs = []
        for number in range(rounds):
            leader, standby = replicas if number % 2 == 0 else replicas[::-1]
            # Another version begins another attempt: from now on there is something to write at any time.
            version = service(namespace, number + 10)
            take_overs.append(sleep_through_a_term(playground, version, leader, standby, number % 12))
        playground.then_no_invariant_was_broken(namespace)
    print(f"{rounds} rounds, take-over {min(take_overs):.1f}..{max(take_overs):.1f} s after it fell asleep")
    assert max(take_overs) <= ROUND_SECONDS


def sleep_through_a_term(
    playground: Playground, version: Service, leader: Replica, standby: Replica, after: int
) -> float:
    """Put the leader to sleep after some writes of an attempt; wake it when the standby writes.

    The one that slept ends and is started anew, as the next standby. Returns the seconds until the take-over.
    """
    began = time.monotonic()
    playground.apply(version)
    until(lambda: len(leader.writes_since(began)) > after, "it writes", seconds=30)
    slept = time.monotonic()
    leader.process.pause()
    until(lambda: bool(standby.writes_since(slept)), "the next leader writes", seconds=30)
    first = standby.writes_since(slept)[0]
    leader.process.resume()
    until(lambda: not leader.process.alive, "the one that slept ends", seconds=30)
    assert leader.process.exit_code in REPLACED
    stale = leader.writes_since(first.at)
    assert not stale, f"after {first} the old leader wrote {stale[0]}"
    leader.process.start()
    leader.process.until_ready()
    assert leader.led_since(first.at) is None, "a standby took the Lease of a leader that lives"
    return first.at - slept
