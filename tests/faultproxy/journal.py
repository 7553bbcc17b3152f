"""What went through a proxy, in order, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from faultproxy.calls import Call


@dataclass(slots=True)
class Entry:
    """One call.

    Attributes:
        number: Counts all calls of the proxy from 1.
        call: What was asked for.
        agent: The client's ``User-Agent``.
        at: When it arrived, on the monotonic clock.
        status: The API server's answer, also if the client never saw it; None without one.
        fault: The fault that it met, by name; empty without one.
        version: The resourceVersion of what is stored since; empty where the answer tells none.
    """

    number: int
    call: Call
    agent: str = ""
    at: float = field(default_factory=time.monotonic)
    status: int | None = None
    fault: str = ""
    version: str = ""

    @property
    def applied(self) -> bool:
        """Whether the API server did what was asked."""
        return self.status is not None and self.status < 300

    @property
    def created(self) -> bool:
        """Whether this call made an object; an apply may."""
        return self.status == 201

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.call} -> {self.status or 'no answer'}{f' [{self.fault}]' if self.fault else ''}"


class Journal:
    """The calls of one client. Written by the proxy's thread only; others read copies."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._of_namespaces: dict[str, list[Entry]] = {}

    def note(self, call: Call, agent: str) -> Entry:
        """Add a call."""
        entry = Entry(len(self._entries) + 1, call, agent)
        self._entries.append(entry)
        self._of_namespaces.setdefault(call.namespace, []).append(entry)
        return entry

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All calls so far."""
        return tuple(self._entries)

    def of_namespace(self, namespace: str) -> tuple[Entry, ...]:
        """Return the calls for objects of one namespace."""
        return tuple(self._of_namespaces.get(namespace, ()))


def writes(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return those that change, or would change, something."""
    return tuple(entry for entry in entries if entry.call.is_write)
