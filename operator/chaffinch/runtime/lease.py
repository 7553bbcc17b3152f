"""One operator leads: a Lease of our own, taken before anything is watched.

Peering by annotations is no lock, so leadership is a ``coordination.k8s.io`` Lease. Each term of leadership
has an *epoch*, the Lease's ``leaseTransitions``; it is written into the status and the route, so that a
leader that was paused and wakes up later loses every compare. Within this process the Lease is a deadline on
the monotonic clock: it counts from *before* a renewal was sent, so it ends before anybody else may take over,
and the transport asks for it before every write (:meth:`Lease.seconds_left`).

A follower never compares its clock with the leader's: it takes over when the Lease has not changed for its
whole duration, measured here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chaffinch.ports.clock import Clock
from chaffinch.ports.cluster import Cluster, ClusterError, ConflictError, Kinds, Manifest, NotFoundError

log = logging.getLogger(__name__)

_LONGEST_RETRY_SECONDS = 1.0  # of a standby, too: a clean hand-over takes as long
_LAST_SECONDS = 0.5  # no write begins in them; the process ends in order before the fence ends it
_SOONEST_SECONDS = 0.001


def _no_fence(seconds: float) -> None:
    del seconds


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """Where the Lease is, and how it is held.

    Attributes:
        namespace: The operator's own namespace.
        name: Name of the Lease.
        identity: Name of this process; unique per start.
        duration_seconds: How long the Lease is valid after a renewal.
    """

    namespace: str
    name: str
    identity: str
    duration_seconds: int

    @property
    def retry_seconds(self) -> float:
        """How long to wait before the next try to take, or to renew after a failure."""
        return min(_LONGEST_RETRY_SECONDS, self.duration_seconds / 5)


class Lease:
    """The Lease as this process sees it. Not shared between event loops; ``seconds_left`` is thread-safe.

    Args:
        cluster: Where it is.
        clock: Tells the time.
        terms: How it is held.
        fence: Ends the process so many seconds after it was told; 0 calls that off.
    """

    def __init__(
        self, cluster: Cluster, clock: Clock, terms: LeaseTerms, fence: Callable[[float], None] = _no_fence
    ) -> None:
        self._cluster = cluster
        self._fence = fence
        self._clock = clock
        self._terms = terms
        self._mine: Manifest | None = None
        self._deadline = float("-inf")
        self._seen: tuple[object, ...] = ()
        self._seen_at = float("-inf")

    @property
    def epoch(self) -> int:
        """The number of this term of leadership; 0 before the first."""
        return int(self._mine["spec"]["leaseTransitions"]) if self._mine else 0

    def seconds_left(self) -> float:
        """Return for how long this process surely leads; zero or less when it does not."""
        return self._deadline - self._clock.monotonic()

    async def acquire(self) -> None:
        """Wait until this process leads. Trouble on the way is logged and waited out."""
        while not await self._tried_to_take():  # noqa: ASYNC110 - what is polled is in the API server
            await asyncio.sleep(self._terms.retry_seconds)
        log.info("leading", extra={"epoch": self.epoch})

    async def keep(self) -> None:
        """Renew the Lease for as long as possible; return when it is lost."""
        pause = self._terms.duration_seconds / 3
        while self._mine is not None:
            await asyncio.sleep(max(0.0, min(pause, self.seconds_left() - _LAST_SECONDS)))
            renewed = await self._renewed()
            if not renewed and self.seconds_left() <= _LAST_SECONDS:
                self._mine = None
            pause = self._terms.duration_seconds / 3 if renewed else self._terms.retry_seconds
        self._deadline = float("-inf")

    async def release(self) -> None:
        """Give the Lease up, so that another process can lead at once. Failures only delay that."""
        mine, self._mine = self._mine, None
        self._deadline = float("-inf")
        self._fence(0)
        if mine is None:
            return
        try:
            await self._cluster.replace(_with(mine, holderIdentity="", renewTime=_text(self._clock.now())))
        except ClusterError as error:
            log.warning("the lease was not released and has to expire: %s", error)

    async def _tried_to_take(self) -> bool:
        started = self._clock.monotonic()
        try:
            found = await self._cluster.get(Kinds.LEASE, self._terms.namespace, self._terms.name)
        except NotFoundError:
            return await self._held(started, self._cluster.create(self._first()))
        except ClusterError as error:
            log.warning("the lease cannot be read: %s", error)
            return False
        if not self._is_free(found):
            return False
        return await self._held(started, self._cluster.replace(self._taken(found)))

    async def _held(self, started: float, write: Any) -> bool:  # noqa: ANN401 - an awaitable of the port
        try:
            self._mine = await write
        except ConflictError:
            return False
        except ClusterError as error:
            log.warning("the lease cannot be written: %s", error)
            return False
        self._deadline = started + self._terms.duration_seconds
        self._fence(max(_SOONEST_SECONDS, self.seconds_left()))
        return True

    async def _renewed(self) -> bool:
        if self._mine is None:
            return False
        started = self._clock.monotonic()
        if await self._held(
            started, self._cluster.replace(_with(self._mine, renewTime=_text(self._clock.now())))
        ):
            return True
        return await self._reread()

    async def _reread(self) -> bool:
        """After a failed renewal: find out whether the Lease is still ours; False unless renewed."""
        try:
            found = await self._cluster.get(Kinds.LEASE, self._terms.namespace, self._terms.name)
        except NotFoundError:
            log.warning("the lease was deleted by somebody: leadership ends")
            self._mine = None
        except ClusterError:
            return False
        else:
            spec = found["spec"]
            same = (
                spec.get("holderIdentity") == self._terms.identity and spec["leaseTransitions"] == self.epoch
            )
            self._mine = found if same else None
        return False

    def _is_free(self, found: Manifest) -> bool:
        spec = found["spec"]
        look = (spec.get("holderIdentity"), spec.get("renewTime"), spec.get("leaseTransitions"))
        if look != self._seen:
            self._seen, self._seen_at = look, self._clock.monotonic()
        idle = self._clock.monotonic() - self._seen_at
        return not spec.get("holderIdentity") or idle >= int(spec.get("leaseDurationSeconds") or 0)

    def _first(self) -> Manifest:
        # A deleted Lease must not begin an earlier epoch again: start from the minutes of the wall clock.
        return {
            "apiVersion": Kinds.LEASE.api_version,
            "kind": Kinds.LEASE.kind,
            "metadata": {"namespace": self._terms.namespace, "name": self._terms.name},
            "spec": self._spec(epoch=int(self._clock.now().timestamp() // 60)),
        }

    def _taken(self, found: Manifest) -> Manifest:
        return _with(found, **self._spec(epoch=int(found["spec"].get("leaseTransitions") or 0) + 1))

    def _spec(self, epoch: int) -> dict[str, Any]:
        now = _text(self._clock.now())
        return {
            "holderIdentity": self._terms.identity,
            "leaseDurationSeconds": self._terms.duration_seconds,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": epoch,
        }


def _with(lease: Manifest, **changes: object) -> Manifest:
    return {**lease, "spec": {**lease["spec"], **changes}}


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
