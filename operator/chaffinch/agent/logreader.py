"""Reads Envoy's access log as it grows, and rotates it without losing a line.

The log is a plain file: behind a pipe Envoy would stand still when nobody reads. Rotation renames
the file and asks Envoy to open its path anew. Envoy goes on writing into the renamed file until
then, so that file is read until the new one exists and its own end is reached. Truncating would
lose what is written between reading and truncating.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Reading:
    """Some complete lines, and whether they were all that the log held."""

    lines: tuple[bytes, ...]
    complete: bool


class LogReader:
    """The reading end of the access log.

    Args:
        path: The file that Envoy appends to.
        limit: The size in bytes from which the file should be rotated.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._renamed = path.with_name(f"{path.name}.1")
        self._limit = limit
        self._file: BinaryIO | None = None
        self._reads_renamed = False
        self._rest = b""

    def read(self) -> Reading:
        """Return the lines that were added since the last call, at most about a megabyte of them."""
        file = self._opened()
        if file is None:
            return Reading((), complete=True)
        # Looked at before the reading: what is written before the new file appears is then read.
        superseded = self._reads_renamed and self._path.exists()
        data = file.read(_CHUNK)
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        at_end = len(data) < _CHUNK
        if at_end and superseded:
            self._leave_renamed()
            return Reading((*lines, *self._cut_line()), complete=False)
        return Reading(tuple(lines), complete=at_end)

    @property
    def is_long(self) -> bool:
        """Whether the file should be rotated."""
        return not self._reads_renamed and self._file is not None and self._file.tell() >= self._limit

    @property
    def awaits_new_file(self) -> bool:
        """Whether the file has been renamed and Envoy has yet to open its path anew."""
        return self._reads_renamed and not self._path.exists()

    def rename(self) -> None:
        """Begin a rotation; Envoy must then be asked to open its log again."""
        self._path.rename(self._renamed)
        self._reads_renamed = True

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> BinaryIO | None:
        if self._file is None:
            # A process before this one may have left a rotation half done.
            self._reads_renamed = self._renamed.exists()
            path = self._renamed if self._reads_renamed else self._path
            try:
                self._file = path.open("rb")
            except FileNotFoundError:
                return None
        return self._file

    def _leave_renamed(self) -> None:
        self.close()
        self._renamed.unlink()
        self._reads_renamed = False

    def _cut_line(self) -> tuple[bytes, ...]:
        # A line that Envoy died in the middle of: handed on, so that it is counted as malformed.
        rest, self._rest = self._rest, b""
        return (rest,) if rest else ()
