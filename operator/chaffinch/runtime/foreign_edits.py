"""Finds out what others have changed of a rollout's objects, and who, from what the API server records.

The API server records for each field which client has set it last. An object that differs from what is wanted
because the operator wants something else than before has no other client recorded where it differs. A field
that was removed, and an object that was deleted, leave no trace; they tell of somebody else only if this very
process had found or made them as they are wanted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chaffinch.adapters.cluster import FIELD_MANAGER
from chaffinch.adapters.leaves import covers, managers_of, others_in
from chaffinch.domain.names import COMPONENT_LABEL, RolloutIdentity
from chaffinch.domain.observation import ForeignEdit
from chaffinch.domain.router_edits import route_object
from chaffinch.ports.cluster import Kinds, Manifest
from chaffinch.routing.envoy import COMPONENT as ROUTER
from chaffinch.routing.route import ROUTE_KEY
from chaffinch.runtime.reading import Address
from chaffinch.runtime.wanted import Wanted

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,62}")
"""What is shown of another client's name; it may give itself any."""


class AsWanted:
    """What this process has found or made as it is wanted; kept as digests, for there are many rollouts."""

    def __init__(self) -> None:
        self._noted: dict[Address, tuple[bytes, str]] = {}

    def note(self, wanted: Wanted, live: Manifest | None = None) -> None:
        """Remember that an object is as it is wanted.

        Args:
            wanted: What is wanted.
            live: The object, if it has exactly the fields that are wanted of it.
        """
        self._noted[wanted.address] = wanted.digest, _version(live)

    def is_unchanged(self, wanted: Wanted, live: Manifest | None) -> bool:
        """Say whether an object is the very one that was noted, and the same is wanted of it."""
        version = _version(live)
        _, noted = self._noted.get(wanted.address, (b"", ""))
        # The version first: it is a string, and a digest is taken of the whole manifest.
        return bool(version) and noted == version and self._is_noted(wanted)

    def edit(self, wanted: Wanted, live: Manifest | None) -> ForeignEdit | None:
        """Return what somebody else has done to an object, if that can be told; remember it if it is right.

        Args:
            wanted: What is wanted.
            live: What is there; None if nothing is.
        """
        if self.is_unchanged(wanted, live):
            return None
        if live is not None and covers(live, wanted.manifest):
            self.note(wanted)
            return None
        by = None if live is None else _shown(others_in(live, wanted.manifest, FIELD_MANAGER))
        return ForeignEdit("/".join(wanted.address), by) if by or self._is_noted(wanted) else None

    def _is_noted(self, wanted: Wanted) -> bool:
        digest, _ = self._noted.get(wanted.address, (b"", ""))
        return digest == wanted.digest


def edits_of_route(
    config_map: Manifest | None, rollout: RolloutIdentity, *, was_written: bool
) -> tuple[ForeignEdit, ...]:
    """Return what somebody else has done to the route, if it was not the operator that wrote what is there.

    Args:
        config_map: What holds it; None if nothing does.
        rollout: Whose it is.
        was_written: Whether there must have been one.
    """
    if config_map is None:
        return (ForeignEdit(route_object(rollout)),) if was_written else ()
    writers = managers_of(config_map, ("data", ROUTE_KEY))
    if FIELD_MANAGER in writers or not config_map["metadata"].get("managedFields"):
        return ()
    return (ForeignEdit(route_object(rollout), _shown(writers)),)


def of_router(wanted: Sequence[Wanted]) -> list[Wanted]:
    """Return the objects that lead requests: those of the router, and the Services of revisions."""
    return [one for one in wanted if _leads_requests(one.manifest)]


def _leads_requests(manifest: Manifest) -> bool:
    component = manifest["metadata"]["labels"].get(COMPONENT_LABEL)
    return bool(manifest["kind"] == Kinds.SERVICE.kind or component == ROUTER)


def _version(live: Manifest | None) -> str:
    """Return the version of an object; empty of none, and of one that has none."""
    return "" if live is None else str(live["metadata"].get("resourceVersion") or "")


def _shown(managers: Sequence[str]) -> str | None:
    """Return the newest manager by a name that can be shown."""
    if not managers:
        return None
    return managers[0] if _NAME.fullmatch(managers[0]) else "a client without a proper name"
