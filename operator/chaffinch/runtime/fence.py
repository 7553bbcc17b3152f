"""Ends the process when its leadership is over, whatever it is doing then, and even if it does nothing.

Between the question whether this process still leads and the write that follows, the process may be put to
sleep: by a signal, by the freezer of its cgroup, with its machine. Whoever woke up there would write long
after somebody else leads. So the kernel holds a timer for the end of the Lease, whose signal has no handler:
a process that slept over it is ended before its code runs on.

The first process of a container is spared signals without a handler; the chart gives ours another one as
parent.
"""

from __future__ import annotations

import signal


def arm(seconds: float) -> None:
    """Let the process end in so many seconds, unless this is called again before; 0 calls it off."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
