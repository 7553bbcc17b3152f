"""How the loop of an object is woken: soon, or at once where every moment costs something."""

from __future__ import annotations

import asyncio


class Wake(asyncio.Event):
    """Set by whoever saw a change.

    Attributes:
        urgent: Set as well if the next pass is not to wait for its distance from the one before.
    """

    def __init__(self) -> None:
        """Begin with nothing seen."""
        super().__init__()
        self.urgent = asyncio.Event()

    def set_at_once(self) -> None:
        """Wake the loop without any pause, but for the one after a failure."""
        self.set()
        self.urgent.set()

    def clear(self) -> None:
        """Forget what was seen: a pass begins, and sees it for itself."""
        super().clear()
        self.urgent.clear()
