"""What one user wrote, from the API server's audit log: its newest end only, for the whole is gigabytes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from oracle.audit import WRITE_VERBS


class AuditTail:
    """Reads what is added to an audit log from now on.

    Args:
        path: The log.
        user: Whose requests matter.
    """

    def __init__(self, path: Path, user: str) -> None:
        self._path = path
        self._mark = f'"username":"{user}"'.encode()
        self._offset = path.stat().st_size

    def writes(self) -> Mapping[str, int]:
        """Return what the user has written since the last call, as ``verb resource`` and how often.

        Refused writes count too: they are requests all the same.
        """
        found: Counter[str] = Counter()
        with self._path.open("rb") as log:
            log.seek(self._offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                if self._mark in line:
                    found.update(_write(line))
        return found


def _write(line: bytes) -> list[str]:
    event = json.loads(line)
    if event["stage"] != "ResponseComplete" or event["verb"] not in WRITE_VERBS:
        return []
    return [f"{event['verb']} {event['objectRef']['resource']}"]


def but_leases(writes: Mapping[str, int]) -> dict[str, int]:
    """Return the writes of anything but Leases."""
    return {what: times for what, times in writes.items() if not what.endswith(" leases")}
