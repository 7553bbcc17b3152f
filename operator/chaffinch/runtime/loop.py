"""Looking after one object, again and again: wait, do a pass, and survive whatever it raises.

A pass may be the first after a crash, so it needs nothing from the one before. Passes of one object
are at least ``spacing`` apart, unless one is urgent, and only so many objects have one at the same time:
a thousand passes at once would share the API server so thinly that none of them ended in time.

After a failure the pause grows with jitter, and events do not shorten it: a fault of the API server must not
become a storm of requests. One failure may be a coincidence and is tried again at once. From the second one
in a row on, a pass also has to earn the requests that it made in vain; where reads succeed and writes do not,
they are many.

What failed is logged as the kind of error and the place in our code. The text of an error is shown only if it
is one of ours: texts of other libraries may hold parts of remote answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from chaffinch.ports.cluster import ClusterError
from chaffinch.runtime import spending
from chaffinch.runtime.logs import place_of
from chaffinch.runtime.wake import Version, Wake

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass that did not fail has to say.

    Attributes:
        again_in: Most seconds until the next pass, if nothing wakes the loop before.
        gone: The object does not exist any more; there will be no next pass.
        failed: Something could not be read, so that nothing was decided: back off as after an error.
        exactly: The pause is not to be shortened, as it is one between tries.
        wrote: What the object was when this process wrote its status last.
    """

    again_in: float
    gone: bool = False
    failed: bool = False
    exactly: bool = field(default=False, compare=False)
    wrote: Version | None = field(default=None, compare=False)


GONE = Outcome(again_in=0, gone=True)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often there is a pass. All in seconds.

    Attributes:
        spacing: Least time between two passes, of which the second one is not urgent.
        first_backoff: Pause after the first failure; doubled by each one that follows.
        longest_backoff: Longest pause after failures.
        request_price: Pause for each request of a pass that failed, if the one before failed too: 3 s are
            20 requests a minute. For very many it is twice the longest pause.
        pass_timeout: Longest time that one pass may take.
        exact: Longest pause that is kept exactly. A longer one ends earlier, at half of it at the
            earliest: objects that had their passes in one moment once are not to have them so ever after.
    """

    spacing: float = 1.0
    first_backoff: float = 1.0
    longest_backoff: float = 30.0
    request_price: float = 3.0
    pass_timeout: float = 120.0
    exact: float = 8.0

    def pause(self, again_in: float, chance: float) -> float:
        """Return how long to wait for the next pass after one that has not failed.

        Args:
            again_in: How long the pass said.
            chance: A random number in [0, 1).
        """
        return again_in if again_in <= self.exact else again_in * (0.5 + chance / 2)

    def backoff(self, failures: int, chance: float, requests: int = 0) -> float:
        """Return the pause after so many failures in a row.

        Args:
            failures: How many, from 1.
            chance: A random number in [0, 1) that spreads the pause over 50 % to 100 % of its length.
            requests: How many the last pass made.
        """
        longest = min(self.longest_backoff, self.first_backoff * 2.0 ** min(failures - 1, 32))
        price = min(2 * self.longest_backoff, self.request_price * requests) if failures > 1 else 0.0
        return max(self.spacing, longest * (0.5 + chance / 2), price)


class Watch:
    """What wants to know how passes go (metrics, health). The default does not."""

    def began(self) -> None:
        """A pass begins."""

    def ended(self, *, failed: bool) -> None:
        """It is over."""


async def look_after(
    one_pass: Callable[[], Awaitable[Outcome]],
    wake: Wake,
    *,
    pace: Pace,
    chance: Callable[[], float],
    watch: Watch,
    fields: dict[str, str],
    turns: asyncio.Semaphore | None = None,
) -> None:
    """Do a pass whenever woken or due, until the object is gone or the task is cancelled.

    Args:
        one_pass: Does one pass.
        wake: Set by whoever saw a change.
        pace: How often.
        chance: Random numbers in [0, 1).
        watch: Told about each pass.
        fields: What to log with each message: kind, namespace and name of the object.
        turns: How many passes there may be at the same time, shared with other objects; a pass begins, and
            its time is counted, when it has its turn. None sets no limit.
    """
    failures = 0
    while True:
        async with turns or contextlib.nullcontext():
            wake.clear()
            spent = spending.begin()
            outcome = await _one(one_pass, pace.pass_timeout, watch, fields)
        if outcome is None or outcome.failed:
            failures += 1
            await asyncio.sleep(pace.backoff(failures, chance(), spent.requests))
            continue
        failures = 0
        if outcome.gone:
            return
        wake.wrote(outcome.wrote)
        await _wait(wake.urgent, pace.spacing)
        pause = outcome.again_in if outcome.exactly else pace.pause(outcome.again_in, chance())
        await _wait(wake, pause - pace.spacing)


async def _one(
    one_pass: Callable[[], Awaitable[Outcome]], longest: float, watch: Watch, fields: dict[str, str]
) -> Outcome | None:
    """Do one pass; None if it failed in whatever way."""
    watch.began()
    outcome = None
    try:
        async with asyncio.timeout(longest):
            outcome = await one_pass()
    except ClusterError as error:
        log.warning("the pass failed: %s", error, extra=fields)
    except Exception as error:  # noqa: BLE001 - one bad object must never end its task, or delay another one
        log.error("the pass failed with %s at %s", type(error).__name__, place_of(error), extra=fields)
    finally:
        watch.ended(failed=outcome is None or outcome.failed)
    return outcome


async def _wait(wake: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await wake.wait()
    except TimeoutError:
        return
