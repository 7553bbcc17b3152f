"""Whether this machine has the time for a demo.

The demo's engines pretend their latencies, but what users see is measured, on the machine that all of it
runs on. When that has other work, a good version is slow for its users, and Chaffinch rightly says so.
"""

from __future__ import annotations

import os

_MOST_PER_CORE = 2.0
"""The demo itself keeps about one process per core of a two-core machine running."""


def warning() -> str | None:
    """Return what to tell the person at the screen, or None if the machine is quiet enough."""
    return warning_about(os.getloadavg()[0], os.cpu_count() or 1)


def warning_about(load: float, cores: int) -> str | None:
    """Return the warning for a load average of the last minute on so many cores, if it deserves one."""
    if load <= _MOST_PER_CORE * cores:
        return None
    return (
        f"This machine is busy: its load average is {load:.1f} on {cores} cores. Latencies are measured on"
        " it, so a good version may be slow. Run the demo when nothing else runs."
    )
