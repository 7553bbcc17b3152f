"""The clocks of the machine."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Implements :class:`chaffinch.ports.clock.Clock`."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds of the monotonic clock."""
        return time.monotonic()
