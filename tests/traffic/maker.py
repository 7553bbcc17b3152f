"""Runs a profile: sends each request when it is due, whatever became of the others."""

import asyncio
import time

from traffic.client import Sender, open_session
from traffic.ledger import Ledger
from traffic.profile import PlannedRequest, Profile, plan

# Requests under way get this long to end when the run is stopped before its time.
_GRACE_SECONDS = 10.0


class TrafficMaker:
    """Makes the traffic of one profile, once.

    Attributes:
        ledger: The counts so far; may be read at any time.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.ledger = Ledger()
        self._stopped = asyncio.Event()
        self._under_way: set[asyncio.Task[None]] = set()
        self._started = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start of the run."""
        return time.monotonic() - self._started

    def stop(self) -> None:
        """Start no more requests; ``run`` returns when those under way have ended."""
        self._stopped.set()

    async def run(self) -> Ledger:
        """Send everything, wait for every end, and return the counts."""
        self._started = time.monotonic()
        async with open_session(self.profile.timeout) as session:
            sender = Sender(session, self.profile.endpoint, lambda: self.elapsed)
            for request in plan(self.profile):
                if await self._stopped_before(request.at):
                    break
                self._start(sender, request)
            await self._settle()
        return self.ledger

    def _start(self, sender: Sender, request: PlannedRequest) -> None:
        if len(self._under_way) >= self.profile.concurrency:
            self.ledger.skip(request.at)
            return
        task = asyncio.create_task(self._send(sender, request))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _send(self, sender: Sender, request: PlannedRequest) -> None:
        self.ledger.add(await sender.send(request))

    async def _stopped_before(self, at: float) -> bool:
        """Wait until a moment of the run; True if it is stopped first."""
        delay = at - self.elapsed
        if delay <= 0:
            # Late already: give the others their turn, and a stop its chance.
            await asyncio.sleep(0)
            return self._stopped.is_set()
        try:
            await asyncio.wait_for(self._stopped.wait(), delay)
        except TimeoutError:
            return False
        return True

    async def _settle(self) -> None:
        """Wait for what is under way: to its end, or for a short while after a stop."""
        stop = asyncio.create_task(self._stopped.wait())
        pending = set(self._under_way)
        while pending and not stop.done():
            await asyncio.wait({*pending, stop}, return_when=asyncio.FIRST_COMPLETED)
            pending = {task for task in pending if not task.done()}
        stop.cancel()
        if pending:
            _, pending = await asyncio.wait(pending, timeout=_GRACE_SECONDS)
        self.ledger.abandon(len(pending))
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
