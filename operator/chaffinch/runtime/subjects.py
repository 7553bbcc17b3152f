"""Reads the object that a task looks after, or says that there is nothing to look at any more."""

from __future__ import annotations

from chaffinch.ports.cluster import Cluster, Kind, Manifest, NotFoundError
from chaffinch.runtime.hub import Subject
from chaffinch.runtime.loop import GONE, Outcome


async def read_subject(cluster: Cluster, kind: Kind, subject: Subject, idle: float) -> Manifest | Outcome:
    """Return a subject's object; if it is gone, or on its way out, what its pass ends with.

    Args:
        cluster: Where it is.
        kind: Its kind.
        subject: Who it is; another object of its name is not it.
        idle: Seconds until the next pass of one that is being deleted.

    Raises:
        ClusterError: If it could not be read.
    """
    try:
        body = await cluster.get(kind, subject.namespace, subject.name)
    except NotFoundError:
        return GONE
    if body["metadata"]["uid"] != subject.uid:
        return GONE
    return Outcome(idle) if "deletionTimestamp" in body["metadata"] else body
