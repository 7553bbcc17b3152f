"""Time as an argument: the wall clock for what people read, a monotonic clock for deadlines."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time. Never sleeps: waiting belongs to the event loop."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC, for status, events and everything that is stored."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back, for ages and deadlines in this process."""
        ...
