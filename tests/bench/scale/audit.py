"""What one user asked of the API server, from its audit log: its newest end, for the whole is gigabytes."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from oracle.audit import WRITE_VERBS


class AuditTail:
    """Reads what is added to an audit log from now on, also when the API server begins a new file.

    Args:
        path: The log.
        user: Whose requests matter.
    """

    def __init__(self, path: Path, user: str) -> None:
        self._path = path
        self._mark = f'"username":"{user}"'.encode()
        self._log = path.open("rb")
        self._log.seek(0, 2)

    def requests(self) -> Mapping[str, int]:
        """Return what the user has asked for since the last call, as ``verb resource`` and how often.

        Refused requests count too. A watch counts when it ends.
        """
        found: Counter[str] = Counter()
        for line in self._lines():
            if self._mark in line:
                found.update(_request(line))
        return found

    def writes(self) -> Mapping[str, int]:
        """Return those requests since the last call that write."""
        return {what: times for what, times in self.requests().items() if what.split()[0] in WRITE_VERBS}

    def close(self) -> None:
        """Close the file."""
        self._log.close()

    def _lines(self) -> Iterator[bytes]:
        """Yield the whole lines that have been added; one that is still being written is left for later."""
        while True:
            # Asked before it is read to its end: a file that has been set aside grows no more.
            set_aside = not self._log_is_current()
            for line in self._log:
                if not line.endswith(b"\n"):
                    self._log.seek(-len(line), 1)
                    break
                yield line
            if not set_aside:
                return
            self._log.close()
            self._log = self._path.open("rb")

    def _log_is_current(self) -> bool:
        try:
            return self._path.stat().st_ino == os.fstat(self._log.fileno()).st_ino
        except FileNotFoundError:  # between the old file and the new one
            return True


def _request(line: bytes) -> list[str]:
    event = json.loads(line)
    if event["stage"] != "ResponseComplete":
        return []
    return [f"{event['verb']} {event['objectRef']['resource']}"]


def but_leases(writes: Mapping[str, int]) -> dict[str, int]:
    """Return the writes of anything but Leases."""
    return {what: times for what, times in writes.items() if not what.endswith(" leases")}
