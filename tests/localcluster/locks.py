"""Keeping two runs of this program from doing the same thing at once."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from localcluster.progress import Progress


@contextmanager
def exclusive(path: Path, what: str, progress: Progress) -> Iterator[None]:
    """Hold the lock file `path`; while another process holds it, say that `what` is waited for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"Waiting for {what} to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
