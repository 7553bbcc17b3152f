"""Where the result of a load probe is pulled from: its worker, whose identity was checked before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Progress:
    """A run that is not over: the stage that runs, and how many of its requests are done."""

    stage: str
    requests: int


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is over: the text of its result, not yet looked at."""

    text: bytes


class ProbeResults(Protocol):
    """Asks probe workers. Never raises: a worker that does not answer has nothing to say yet."""

    async def ask(self, address: str) -> Progress | Finished | None:
        """Ask the worker at an IP address how far it is; None if it does not answer properly."""
        ...

    async def collected(self, address: str) -> None:
        """Tell the worker that its result is kept and that it may go."""
        ...
