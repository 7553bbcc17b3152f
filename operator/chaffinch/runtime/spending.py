"""How many requests to the API server a pass has made: what a failed one pays for with patience.

Kept in a context variable, because requests are counted where they are sent, deep below the pass.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock

from chaffinch.adapters.cluster import Report


@dataclass(slots=True)
class Spending:
    """The requests of one pass. They are sent from several threads."""

    requests: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self) -> None:
        """Count one more."""
        with self._lock:
            self.requests += 1


_current: ContextVar[Spending | None] = ContextVar("what the pass that is under way has spent", default=None)


def begin() -> Spending:
    """Count the requests of this task, and of what it starts, from here on."""
    spending = Spending()
    _current.set(spending)
    return spending


def counted(report: Report) -> Report:
    """Return a report that also counts each request for the pass that it is made in."""

    def told(verb: str, kind: str, code: str, seconds: float) -> None:
        if (spending := _current.get()) is not None:
            spending.add()
        report(verb, kind, code, seconds)

    return told
