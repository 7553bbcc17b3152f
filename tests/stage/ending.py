"""A request to end is met like an error: whatever was started ends as well, and what was reached is told."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn


def end_when_asked_to() -> None:
    """Turn SIGTERM, from now on, into the exception that ends a program, with the usual exit code (143)."""
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
