"""Is this process alive? Answered from what it has done, not from the fact that it can answer.

A standby that waits for the Lease is healthy and ready: it is ready to take over, and a rolling update would
otherwise wait for ever. A process whose passes hang is not, however well its web server works.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaffinch.ports.clock import Clock
from chaffinch.runtime.hub import Subject


@dataclass(frozen=True, slots=True)
class Report:
    """The answer, with its reasons.

    Attributes:
        healthy: Whether the process should go on living.
        details: Ages and states, for the person who looks.
    """

    healthy: bool
    details: dict[str, object]


class Health:
    """Collects signs of life.

    Args:
        clock: Tells the time.
        longest_pass: When a pass counts as hanging, in seconds.
    """

    def __init__(self, clock: Clock, longest_pass: float) -> None:
        self._clock = clock
        self._longest_pass = longest_pass
        self._running: dict[str, float] = {}
        self._watched_at: float | None = None
        self.started = False
        self.leading = False

    def watch_event(self) -> None:
        """Note that the API server has told us something."""
        self._watched_at = self._clock.monotonic()

    def pass_began(self, subject: Subject) -> None:
        """Note the start of a pass."""
        self._running[subject.uid] = self._clock.monotonic()

    def pass_ended(self, subject: Subject) -> None:
        """Note its end."""
        self._running.pop(subject.uid, None)

    def report(self, lease_seconds_left: float) -> Report:
        """Judge the signs of life."""
        now = self._clock.monotonic()
        oldest = max((now - began for began in self._running.values()), default=0.0)
        lease_held = not self.leading or lease_seconds_left > 0
        details: dict[str, object] = {
            "leading": self.leading,
            "leaseSecondsLeft": round(lease_seconds_left, 1) if self.leading else None,
            "watchSecondsAgo": None if self._watched_at is None else round(now - self._watched_at, 1),
            "oldestPassSeconds": round(oldest, 1),
            "passesRunning": len(self._running),
        }
        return Report(healthy=lease_held and oldest < self._longest_pass, details=details)
