"""Telling people what happened, as Kubernetes Events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from chaffinch.ports.cluster import Manifest


class Severity(StrEnum):
    """Kinds of events that Kubernetes knows."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Note:
    """One event.

    Attributes:
        severity: Normal, or Warning when a person should look.
        reason: One word, from the closed list of reasons.
        action: What the operator did, one word: ``Promote``, ``RollBack``.
        message: A sentence of our own, at most 1,024 characters.
    """

    severity: Severity
    reason: str
    action: str
    message: str


class Recorder(Protocol):
    """Publishes events about an object."""

    async def record(self, about: Manifest, note: Note) -> None:
        """Publish, or count up an equal event published before. Never raises: an event is best effort."""
        ...
