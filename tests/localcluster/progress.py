"""Lines that tell a waiting person what is happening and how long it has been going on."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Progress:
    """Prints `[ seconds] text` to standard error, counted from when it was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def say(self, text: str) -> None:
        print(f"[{self.seconds:6.1f}s] {text}", file=sys.stderr, flush=True)

    @contextmanager
    def step(self, text: str, *, usually: str = "") -> Iterator[None]:
        """Announce a slow step before it starts, and its own duration when it has ended."""
        self.say(f"{text} ..." + (f" (usually {usually})" if usually else ""))
        start = time.monotonic()
        yield
        self.say(f"{text}: done in {time.monotonic() - start:.1f}s")
