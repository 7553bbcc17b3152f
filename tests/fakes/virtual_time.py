"""An event loop in which time passes only when nobody has anything to do: hours take milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

START = datetime(2026, 3, 1, 14, 0, tzinfo=UTC)


class _PatientSelector(selectors.DefaultSelector):
    """Advances the loop's clock instead of waiting."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everybody waits for something that will never happen")
        if not ready and timeout:
            self.loop.offset += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time starts at 0."""

    def __init__(self) -> None:
        self.offset = 0.0
        selector = _PatientSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.offset


class LoopClock:
    """The port's clock, driven by the running loop."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def run(story: Coroutine[Any, Any, T]) -> T:
    """Run a story in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)
