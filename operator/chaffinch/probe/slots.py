"""The closed loop's gate: so many requests open at once, however many stages share them."""

from __future__ import annotations

import asyncio


class Slots:
    """A resizable number of places for open requests; one taker, many givers.

    A stage that starts while the warm-up's last requests are still open takes its places over one by one, so
    that the load neither pauses nor doubles between the two.
    """

    def __init__(self) -> None:
        self._capacity = 0
        self._taken = 0
        self._changed = asyncio.Event()

    @property
    def taken(self) -> int:
        """How many requests are open."""
        return self._taken

    def resize(self, capacity: int) -> None:
        """Allow ``capacity`` open requests from now on; open ones are left alone."""
        self._capacity = capacity
        self._changed.set()

    async def take(self, timeout_seconds: float | None = None) -> bool:
        """Wait for a free place and take it.

        Returns:
            Whether a place was taken; False when the time was over first.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                while self._taken >= self._capacity:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        self._taken += 1
        return True

    def give_back(self) -> None:
        """Free a place."""
        self._taken -= 1
        self._changed.set()
