"""Files that another process reads while they are replaced."""

from __future__ import annotations

from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one step: a reader sees the old content or the new, never a part.

    The rename is also what Envoy watches for.
    """
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text)
    partial.replace(path)
