"""Pods that answer as told, without a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from chaffinch.adapters.pods import PodUnavailableError

Reply = tuple[int, bytes] | None
"""Status and body; None for a pod that does not answer."""


@dataclass
class FakePods:
    """Implements :class:`chaffinch.adapters.pods.Pods`.

    Attributes:
        reply: What the pod at an IP address answers.
        asked: Method, address and path of every request.
    """

    reply: Callable[[str], Reply]
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    async def fetch(self, method: str, address: str, path: str, *, most_bytes: int) -> tuple[int, bytes]:
        """Answer as told."""
        self.asked.append((method, address, path))
        reply = self.reply(address)
        if reply is None or len(reply[1]) > most_bytes:
            raise PodUnavailableError("the pod does not answer")
        return reply
