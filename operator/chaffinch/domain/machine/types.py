"""What goes into and comes out of the state machine besides state and observation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chaffinch.domain.state import RolloutState


class WriteOrder(StrEnum):
    """What is written first when a pass changes both the status and the route."""

    STATUS_FIRST = "StatusFirst"
    ROUTE_FIRST = "RouteFirst"


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    """Which requests the evidence of a step is made of.

    Attributes:
        candidate: The canary's revision.
        control: The stable revision; None where stable has no traffic (a bake).
        attempt: The attempt that both arms' requests were counted for.
        since: Only blocks that start at or after this count.
        until: The time of asking.
    """

    candidate: str
    control: str | None
    attempt: int
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Next:
    """What a pass has decided.

    Attributes:
        state: The next state, to be recorded.
        order: What to write first.
        act: False if nothing but the status may be written in this pass, because a read failed or
            a name is taken.
        mends: Whether what others have changed of the router's objects is put back in this pass.
        requeue_after: Seconds until the next pass, at the latest.
    """

    state: RolloutState
    order: WriteOrder = WriteOrder.STATUS_FIRST
    act: bool = True
    mends: bool = True
    requeue_after: float = 5
