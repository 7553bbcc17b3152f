"""Writes the status of one rollout: when it is due, signed, and only over the one that was read."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from chaffinch.api.v1alpha1.status import RolloutStatus, Writer
from chaffinch.domain.status_update import is_due
from chaffinch.domain.timing import Timing
from chaffinch.ports.cluster import Cluster, ConflictError, Kinds, Manifest, RejectedError
from chaffinch.runtime.status import rollout_patch, writer_of
from chaffinch.runtime.wake import Version


class Term(Protocol):
    """The term of leadership that writes are signed with."""

    @property
    def epoch(self) -> int:
        """Its number."""
        ...


class StatusRecord:
    """Writes statuses of one rollout.

    Args:
        cluster: Where it is.
        term: Whose name writes are signed with.
        timing: How often figures alone are worth a write.

    Attributes:
        written: What the rollout was after the last write, and of which generation it had been read.
    """

    def __init__(self, cluster: Cluster, term: Term, timing: Timing) -> None:
        self._cluster = cluster
        self._term = term
        self._timing = timing
        self.written: Version | None = None
        self._written_at: datetime | None = None
        self._refused_over: Writer | None = None

    async def record(
        self, body: Manifest, previous: RolloutStatus | None, status: RolloutStatus, now: datetime
    ) -> None:
        """Write a status if it is due.

        Args:
            body: The rollout as it was read in this pass.
            previous: Its status, as it was understood.
            status: What it shall be.
            now: The time.

        Raises:
            ConflictError: If somebody else wrote the status since it was read.
            RejectedError: If the API server refuses the content, which is an error of our own.
            ClusterError: If it could not be written for another reason.
        """
        if not is_due(previous, status, self._written_at, now, self._timing):
            return
        writer = writer_of(body)
        mine = Writer(epoch=self._term.epoch, sequence=writer.sequence + 1 if writer else 1)
        made = await self._patch(body, status.model_copy(update={"writer": mine}))
        self.written = (made["metadata"]["resourceVersion"], int(body["metadata"]["generation"]))
        self._written_at = now

    async def _patch(self, body: Manifest, status: RolloutStatus) -> Manifest:
        metadata = body["metadata"]
        place = (Kinds.ROLLOUT, metadata["namespace"], metadata["name"])
        try:
            return await self._cluster.patch_status(*place, rollout_patch(body, status.to_dict()))
        except RejectedError:
            # A failed test and a content that the schema refuses look the same; the writer tells them apart.
            # Once it has, and while nobody has written since, it need not be asked again at each refusal.
            writer = writer_of(body)
            if writer is None or writer != self._refused_over:
                found = await self._cluster.get(*place)
                if writer_of(found) != writer or found["metadata"]["uid"] != metadata["uid"]:
                    raise ConflictError("the status was written by somebody else in between") from None
                self._refused_over = writer
            raise
