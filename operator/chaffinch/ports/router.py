"""What the routers of a rollout say that they do: the acknowledgement of a route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RouterState:
    """What one router pod has in effect.

    Attributes:
        pod: Name of the router pod.
        epoch: Leadership term of the operator that wrote the route.
        sequence: Number of the route within the term; a route is identified by (epoch, sequence).
        applied_at: When the proxy took the route over; None if the agent does not say.
        weights: Effective share of new requests per revision, in 1/10,000.
        endpoints: Ready endpoints per revision as the router sees them.
    """

    pod: str
    epoch: int
    sequence: int
    applied_at: datetime | None
    weights: Mapping[str, int]
    endpoints: Mapping[str, int]


class Routers(Protocol):
    """Asks router pods for their state."""

    async def states(self, addresses: Mapping[str, str]) -> Sequence[RouterState]:
        """Ask each router for its state, all at once.

        Args:
            addresses: Address by pod name.

        Returns:
            The states of those that answered properly; a router that did not is simply absent, and
            an absent state acknowledges nothing. Never raises.
        """
        ...
