"""Where evidence about live traffic comes from, as the runtime sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from chaffinch.domain.evidence import Evidence, NoEvidence


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    """Which traffic is asked about. Nothing else may be counted in the answer.

    Attributes:
        rollout_uid: The uid of the InferenceRollout object, never its name alone.
        attempt: The attempt's number within that object.
        candidate: The canary's revision, 8 hex digits.
        stable: The stable revision, or None when there is none to compare with.
        since: When the step's weight was acknowledged, timezone-aware: requests that started
            earlier do not count.
        now: The time of asking, timezone-aware.
    """

    rollout_uid: str
    attempt: int
    candidate: str
    stable: str | None
    since: datetime
    now: datetime


class EvidenceSource(Protocol):
    """Reads what the routers counted."""

    async def live(self, question: EvidenceQuestion) -> Evidence | NoEvidence:
        """Return both arms since the step's start, or why they cannot be had. Never raises."""
        ...
