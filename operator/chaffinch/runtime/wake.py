"""How the loop of an object is woken: soon, or at once where every moment costs something.

Each status that a pass writes comes back as an event of the object. It tells nothing new, and half of all
passes of a canary would have no other cause, so it wakes nobody.
"""

from __future__ import annotations

import asyncio

Version = tuple[str, int]
"""The resourceVersion of an object and its generation.

A watch may pass on only the last one of several quick changes. If that is a status of ours, written when the
spec had been changed already, its generation is another one than that of the spec that the pass had read.
"""


class Wake(asyncio.Event):
    """Set by whoever saw a change.

    Attributes:
        urgent: Set as well if the next pass is not to wait for its distance from the one before.
    """

    def __init__(self) -> None:
        """Begin with nothing seen."""
        super().__init__()
        self.urgent = asyncio.Event()
        self._written: Version | None = None
        self._only_cause: Version | None = None

    def set(self) -> None:
        """Wake the loop."""
        self._only_cause = None
        super().set()

    def set_at_once(self) -> None:
        """Wake the loop without any pause, but for the one after a failure."""
        self.set()
        self.urgent.set()

    def saw(self, version: Version) -> None:
        """Wake the loop for an event of the object itself, unless it is that of its own last write."""
        if version == self._written:
            return
        is_first = not self.is_set()
        self.set()
        self._only_cause = version if is_first else None

    def wrote(self, version: Version | None) -> None:
        """Take note of what the last pass wrote; the event of it may be still to come, or here already."""
        self._written = version
        if version is not None and version == self._only_cause:
            self.clear()

    def clear(self) -> None:
        """Forget what was seen: a pass begins, and sees it for itself."""
        super().clear()
        self._only_cause = None
        self.urgent.clear()
