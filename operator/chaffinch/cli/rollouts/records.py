"""The records of a rollout's attempts, read from the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from chaffinch.api.v1alpha1.common import GROUP
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_record
from chaffinch.api.v1alpha1.record import RolloutRecordSpec, RolloutRecordStatus
from chaffinch.cli.exits import CommandError, Exit
from chaffinch.cli.kubectl import Kubectl
from chaffinch.domain.names import ROLLOUT_LABEL

RECORDS = f"rolloutrecords.{GROUP}"


@dataclass(frozen=True, slots=True)
class Record:
    """One attempt.

    Attributes:
        body: The object, as the API server has it.
        spec: What the attempt began with.
        status: What came of it.
    """

    body: Mapping[str, Any]
    spec: RolloutRecordSpec
    status: RolloutRecordStatus

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs."""
        ended: datetime | None = self.status.ended_at
        return (ended - self.spec.started_at).total_seconds() if ended else None

    @property
    def outcome(self) -> str:
        """How it ended, in one word."""
        return str(self.status.outcome or "Running")

    @property
    def commanded_by(self) -> tuple[str, ...]:
        """Who gave commands in it, each once."""
        return tuple(dict.fromkeys(each.by or "unknown" for each in self.status.commands))


def read_records(kubectl: Kubectl, rollout: str) -> list[Record]:
    """Return the records of a rollout, the oldest attempt first.

    Raises:
        CommandError: If they cannot be read, or there are none.
    """
    bodies = kubectl.find(RECORDS, {ROLLOUT_LABEL: rollout})
    if not bodies:
        raise CommandError(
            f"there is no record of an attempt of {rollout!r} in this namespace", Exit.NOT_FOUND
        )
    return sorted((record_of(body) for body in bodies), key=lambda each: each.spec.attempt)


def record_of(body: Mapping[str, Any]) -> Record:
    """Return a record from its object.

    Raises:
        CommandError: If it cannot be understood.
    """
    try:
        return Record(body, parse_record(body), RolloutRecordStatus.model_validate(body.get("status") or {}))
    except (InvalidSpec, ValidationError):
        name = body["metadata"]["name"]
        raise CommandError(f"record {name} cannot be read: is this tool older than the operator?") from None


def record_at(records: list[Record], attempt: int | None) -> Record:
    """Return the record of an attempt; the newest if none is named.

    Raises:
        CommandError: If there is none of that number (any more).
    """
    if attempt is None:
        return records[-1]
    for each in records:
        if each.spec.attempt == attempt:
            return each
    known = ", ".join(str(each.spec.attempt) for each in records)
    raise CommandError(f"there is no record of attempt {attempt}; there are {known}", Exit.NOT_FOUND)
