"""Running other programs to their end, with errors that name the program and quote its last words."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from localcluster.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_QUOTED_LINES = 6


def run(
    argv: Sequence[str | Path],
    *,
    remedy: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> str:
    """Run `argv` and return its standard output; a failure becomes a `ClusterError` with `remedy`."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError:
        raise ClusterError(f"{words[0]} is not installed", remedy) from None
    except subprocess.TimeoutExpired:
        raise ClusterError(f"`{' '.join(words[:4])}` took longer than {timeout:.0f}s", remedy) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-_QUOTED_LINES:]
        raise ClusterError(f"`{' '.join(words[:4])}` failed ({done.returncode}): {' | '.join(said)}", remedy)
    return done.stdout
