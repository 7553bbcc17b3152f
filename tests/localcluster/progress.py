"""Lines that tell a waiting person what is happening and how long it has been going on."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SILENCE_SECONDS = 30.0


class Progress:
    """Prints `[ seconds] text` to standard error, counted from when it was made.

    `silence` is how long a step may say nothing, in seconds, before it is said to be going on.
    """

    def __init__(self, *, silence: float = _SILENCE_SECONDS) -> None:
        self._start = time.monotonic()
        self._silence = silence
        self._last_said = self._start

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def say(self, text: str) -> None:
        self._last_said = time.monotonic()
        print(f"[{self.seconds:6.1f}s] {text}", file=sys.stderr, flush=True)

    @contextmanager
    def step(self, text: str, *, usually: str = "") -> Iterator[None]:
        """Announce a slow step before it starts, that it goes on, and its own duration when it has ended."""
        self.say(f"{text} ..." + (f" (usually {usually})" if usually else ""))
        start = time.monotonic()
        ended = threading.Event()
        reminder = threading.Thread(target=self._break_silence, args=(ended,), daemon=True)
        reminder.start()
        try:
            yield
        finally:
            ended.set()
            reminder.join()
        self.say(f"{text}: done in {time.monotonic() - start:.1f}s")

    def _break_silence(self, ended: threading.Event) -> None:
        while not ended.wait(max(0.0, self._last_said + self._silence - time.monotonic())):
            if time.monotonic() - self._last_said >= self._silence:
                self.say("  still at it")
