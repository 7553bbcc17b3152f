"""What the routers of a rollout say that they do: the acknowledgement of a route."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from chaffinch.domain.observation import Acknowledgement


class Routers(Protocol):
    """Asks router pods what they have in effect."""

    async def acknowledgements(self, addresses: Mapping[str, str]) -> Mapping[str, Acknowledgement]:
        """Ask the agent of each router, all at once.

        Args:
            addresses: IP address by pod name.

        Returns:
            The answers by pod name. A router that did not answer properly is simply absent: it
            acknowledges nothing. Never raises.
        """
        ...
