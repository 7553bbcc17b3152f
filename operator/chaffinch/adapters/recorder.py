"""Kubernetes Events (events.k8s.io/v1), deduplicated by name.

The name of an event is derived from what it says, so that saying it again, by this process or by its
successor, is a conflict on the server and not a second event. Events are for people: none is needed.
"""

from __future__ import annotations

import hashlib
import logging

from chaffinch.api.v1alpha1.common import format_time
from chaffinch.ports.clock import Clock
from chaffinch.ports.cluster import Cluster, ClusterError, ConflictError, Kinds, Manifest
from chaffinch.ports.recorder import Note

log = logging.getLogger(__name__)

CONTROLLER = "chaffinch.dev/operator"
_LONGEST_NOTE = 1024


class EventRecorder:
    """Implements :class:`chaffinch.ports.recorder.Recorder`.

    Args:
        cluster: Where events are created.
        clock: Tells the time.
        instance: Name of this process.
    """

    def __init__(self, cluster: Cluster, clock: Clock, instance: str) -> None:
        self._cluster = cluster
        self._clock = clock
        self._instance = instance

    async def record(self, about: Manifest, note: Note) -> None:
        """Create the event unless the same was said of the same object before."""
        try:
            await self._cluster.create(self._event(about, note))
        except ConflictError:
            return
        except ClusterError as error:
            log.warning("an event was not recorded: %s", error)

    def _event(self, about: Manifest, note: Note) -> Manifest:
        metadata = about["metadata"]
        said = "\n".join((metadata["uid"], note.severity, note.reason, note.action, note.message))
        digest = hashlib.sha256(said.encode()).hexdigest()[:16]
        return {
            "apiVersion": Kinds.EVENT.api_version,
            "kind": Kinds.EVENT.kind,
            "metadata": {"namespace": metadata["namespace"], "name": f"{metadata['name'][:200]}.{digest}"},
            "eventTime": format_time(self._clock.now()),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance[:128],
            "type": str(note.severity),
            "reason": note.reason,
            "action": note.action,
            "note": note.message[:_LONGEST_NOTE],
            "regarding": {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        }
