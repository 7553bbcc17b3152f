"""Makes the objects of one rollout be as they should: looked at first, written only where they differ.

All names are looked up before the first write of a pass, so that a name that belongs to somebody else is
known before anything was started. What was found as wanted is not looked at again for a while, except
Deployments and Services, which every pass reads anyway, and what is only asked for while it is absent; of
those nothing is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaffinch.adapters.cluster import is_as_wanted
from chaffinch.domain.desired import ObjectReference
from chaffinch.domain.observation import ForeignEdit
from chaffinch.ports.clock import Clock
from chaffinch.ports.cluster import Cluster, Kinds, Manifest, NotFoundError, kind_of
from chaffinch.runtime.foreign_edits import AsWanted
from chaffinch.runtime.reading import Address, controller_uid, readable_revisions
from chaffinch.runtime.wanted import Wanted

_CREATED_ONLY = frozenset({Kinds.CONTROLLER_REVISION.kind, Kinds.PROBE.kind})
_ALWAYS_READ = frozenset({Kinds.DEPLOYMENT.kind, Kinds.SERVICE.kind})
_NEVER_VERIFIED = _CREATED_ONLY | _ALWAYS_READ


class Children:
    """The children of one rollout, as this process has seen them.

    Args:
        cluster: Where they are.
        clock: Tells the time.
        recheck_seconds: How long an object that was as wanted is taken to be still so.
    """

    def __init__(self, cluster: Cluster, clock: Clock, recheck_seconds: float) -> None:
        self._cluster = cluster
        self._clock = clock
        self._recheck_seconds = recheck_seconds
        self._verified: dict[Address, tuple[Manifest, float]] = {}
        self._looked_at: set[Address] = set()
        self._as_wanted = AsWanted()

    async def survey(
        self, wanted: Sequence[Wanted], known: Mapping[Address, Manifest]
    ) -> tuple[dict[Address, Manifest], tuple[str, ...]]:
        """Look at what has the names of our objects.

        Args:
            wanted: What should be.
            known: What this pass has read of them already.

        Returns:
            The live objects, and ``Kind/name`` of those that belong to somebody else.

        Raises:
            ClusterError: If one could not be read.
        """
        live: dict[Address, Manifest] = {}
        taken: list[str] = []
        self._looked_at.clear()
        for one in wanted:
            if self._is_verified(one):
                continue
            self._looked_at.add(one.address)
            found = await self._find(one, known)
            if found is None:
                continue
            live[one.address] = found
            if _is_foreign(found, one.manifest):
                taken.append("/".join(one.address))
            # Noted here, and not only by make(): a pass that fails before that need not ask for it again.
            elif one.kind not in _NEVER_VERIFIED and is_as_wanted(found, one.manifest):
                self._note(one)
        return live, tuple(taken)

    def edited(self, wanted: Sequence[Wanted], live: Mapping[Address, Manifest]) -> tuple[ForeignEdit, ...]:
        """Return what others have changed or deleted.

        Args:
            wanted: What should be.
            live: From :meth:`survey`.
        """
        # What was not looked at then, and ought to be again by now, has not been deleted for that.
        looked_at = [one for one in wanted if one.address in self._looked_at and not self._is_verified(one)]
        edits = (self._as_wanted.edit(one, live.get(one.address)) for one in looked_at)
        return tuple(edit for edit in edits if edit is not None)

    async def make(self, wanted: Sequence[Wanted], live: Mapping[Address, Manifest]) -> None:
        """Write what is not as wanted, in the given order.

        Args:
            wanted: What should be.
            live: From :meth:`survey`.

        Raises:
            ClusterError: If a write failed; what comes after it was not tried.
        """
        for one in wanted:
            if self._is_verified(one):
                continue
            if one.kind not in _CREATED_ONLY:
                await self._apply(one, live.get(one.address))
            elif one.address not in live:
                await self._cluster.create(one.manifest)
            self._note(one)

    async def delete(self, references: Sequence[ObjectReference], namespace: str, owner: str) -> None:
        """Delete objects that are ours; others, and absent ones, are left alone.

        Args:
            references: What should go.
            namespace: Where it is.
            owner: Uid of the rollout.
        """
        for reference in references:
            kind = kind_of({"apiVersion": reference.api_version, "kind": reference.kind})
            self._verified.pop((reference.kind, reference.name), None)
            try:
                found = await self._cluster.get(kind, namespace, reference.name)
            except NotFoundError:
                continue
            if controller_uid(found) == owner and "deletionTimestamp" not in found["metadata"]:
                await self._cluster.delete(kind, namespace, reference.name, found["metadata"]["uid"])

    async def _apply(self, wanted: Wanted, live: Manifest | None) -> None:
        """Write an object that is not as wanted; one that nobody has written since it was is not compared."""
        if self._as_wanted.is_unchanged(wanted, live):
            return
        made = await self._cluster.apply(wanted.manifest, live=live)
        if wanted.kind in _ALWAYS_READ:
            self._as_wanted.note(wanted, made)

    def _note(self, wanted: Wanted) -> None:
        """Remember that an object is as wanted."""
        if wanted.kind not in _NEVER_VERIFIED:
            self._verified[wanted.address] = (wanted.manifest, self._clock.monotonic())
            self._as_wanted.note(wanted)

    def _is_verified(self, wanted: Wanted) -> bool:
        seen, at = self._verified.get(wanted.address, (None, 0.0))
        return seen == wanted.manifest and self._clock.monotonic() - at < self._recheck_seconds

    async def _find(self, wanted: Wanted, known: Mapping[Address, Manifest]) -> Manifest | None:
        if wanted.address in known:
            return known[wanted.address]
        kind, metadata = kind_of(wanted.manifest), wanted.manifest["metadata"]
        try:
            return await self._cluster.get(kind, metadata["namespace"], metadata["name"])
        except NotFoundError:
            return None


def _is_foreign(found: Manifest, wanted: Manifest) -> bool:
    """Say whether an object is somebody else's, or only says that it is one of ours."""
    if controller_uid(found) != controller_uid(wanted):
        return True
    return found["kind"] == Kinds.CONTROLLER_REVISION.kind and not readable_revisions([found])
