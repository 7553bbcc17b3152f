"""How the pods of a revision behave in the stories: pure functions of their age."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from chaffinch.domain.observation import CreationRefusal, Pod, Termination


@dataclass(frozen=True)
class Behaviour:
    """How a revision's pods behave.

    Attributes:
        starts_in: Seconds from a container's start to Ready.
        dies_after: Seconds from Ready to a crash; None: never.
        exit_code: Of the crash.
        killed: Whether the crash is an out-of-memory kill.
        pulls: Whether the image can be pulled.
        fits: Whether a node has room.
        turned_away: Why its node turns a pod away right after it was placed; None: it does not.
        refused: Why the API server refuses the pods; None: it does not.
        slowness: Factor on every latency.
        errors: Share of requests that fail.
    """

    starts_in: float = 10
    dies_after: float | None = None
    exit_code: int = 1
    killed: bool = False
    pulls: bool = True
    fits: bool = True
    turned_away: str | None = None
    refused: CreationRefusal | None = None
    slowness: float = 1.0
    errors: float = 0.0


@dataclass
class LivePod:
    """One pod of the world."""

    name: str
    revision: str
    created: datetime
    started: datetime
    restarts: int = 0
    terminating_since: datetime | None = None
    unplaced: bool = False
    failed: str | None = None

    def live(self, now: datetime, behaviour: Behaviour) -> None:
        """Let time pass: a container that has come to its end is started again."""
        self.failed = self.failed or behaviour.turned_away
        if self.failed is not None:
            return
        if behaviour.dies_after is None or not behaviour.pulls or not behaviour.fits:
            return
        end = self.started + timedelta(seconds=behaviour.starts_in + behaviour.dies_after)
        if now >= end:
            self.restarts += 1
            self.started = end

    def seen(self, now: datetime, behaviour: Behaviour) -> Pod:
        """Return what the API server says of the pod."""
        ready_at = self.started + timedelta(seconds=behaviour.starts_in)
        placed = behaviour.fits and not self.unplaced
        runs = behaviour.pulls and placed and self.failed is None
        ready = runs and now >= ready_at
        ended = Termination(
            137 if behaviour.killed else behaviour.exit_code, "OOMKilled" if behaviour.killed else "Error"
        )
        return Pod(
            name=self.name,
            uid=f"uid-of-{self.name}",
            created=self.created,
            ip="10.0.0.1" if placed else None,
            ready=ready,
            ready_since=ready_at if ready else None,
            restarts=self.restarts,
            waiting=None if behaviour.pulls else "ImagePullBackOff",
            last_termination=ended if self.restarts else None,
            unschedulable=not placed,
            terminating=self.terminating_since is not None,
            failed=self.failed,
        )
