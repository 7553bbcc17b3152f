"""Keeps the RolloutRecords of one rollout: made when an attempt begins, brought up to date by its passes.

Records are for people; nothing is decided from them. So no failure here ends a pass: it is logged once,
counted, and tried again later. Nothing is read or written while there is no attempt to tell of.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from chaffinch.api.v1alpha1.names import record_name
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_record
from chaffinch.api.v1alpha1.record import RolloutRecordSpec, RolloutRecordStatus
from chaffinch.domain.names import COMPONENT_LABEL, ROLLOUT_LABEL, RolloutIdentity
from chaffinch.domain.record import (
    COMPONENT,
    KEPT_RECORDS,
    Move,
    is_news,
    record_manifest,
    record_spec,
    updated,
    with_unknown_end,
)
from chaffinch.domain.state import Candidate, RolloutState
from chaffinch.ports.cluster import (
    Cluster,
    ClusterError,
    ConflictError,
    Kinds,
    Manifest,
    NameTakenError,
    NotFoundError,
)
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.reading import controller_uid
from chaffinch.runtime.status import versioned_patch

log = logging.getLogger(__name__)

FrozenForm = Callable[[Candidate], Mapping[str, Any] | None]
"""Tells what makes a candidate, if anything that is left does."""


@dataclass(slots=True)
class _Record:
    """One attempt's record as this process knows it.

    Attributes:
        spec: What the attempt began with.
        wanted: What is to be kept of it.
        body: The object as it was last read or written; None if it has to be read.
        stored: The status of that.
        tried_at: When it was last written, or last could not be.
    """

    spec: RolloutRecordSpec
    wanted: RolloutRecordStatus
    body: Manifest | None = None
    stored: RolloutRecordStatus | None = None
    tried_at: datetime | None = None


class Recording:
    """Keeps the records of one rollout.

    Args:
        cluster: Where they are.
        metrics: Counts failures.
        pause: Least time between two writes for figures alone, and after a failure, in seconds.
    """

    def __init__(self, cluster: Cluster, metrics: Metrics, pause: float) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._pause = pause
        self._open: dict[int, _Record] = {}
        self._closed = 0
        self._told = ""

    async def follow(self, rollout: RolloutIdentity, move: Move, frozen: FrozenForm) -> None:
        """Bring the records of the attempts that a pass was about up to date. Raises nothing of the cluster.

        Args:
            rollout: Whose.
            move: What the pass did.
            frozen: Asked when an attempt has no record yet.
        """
        await self._quietly(rollout, self._find(rollout, move, frozen))
        for record in list(self._open.values()):
            await self._quietly(rollout, self._keep(rollout, record, move))

    async def _quietly(self, rollout: RolloutIdentity, work: Awaitable[None]) -> None:
        try:
            await work
        except (ClusterError, ValueError) as error:
            self._metrics.record_failed()
            text = str(error) if isinstance(error, ClusterError) else type(error).__name__
            if text != self._told:
                fields = {"namespace": rollout.namespace, "rollout": rollout.name}
                log.warning("the record of an attempt could not be kept: %s", text, extra=fields)
                self._told = text

    async def _find(self, rollout: RolloutIdentity, move: Move, frozen: FrozenForm) -> None:
        """Open the records that this process has not told of yet."""
        if move.before.is_empty and not move.after.is_empty:
            await self._find_forgotten(rollout, move)
        for state in (move.before, move.after):
            if state.candidate is not None and self._is_new(state.candidate.attempt):
                await self._open_running(rollout, state, state.candidate, frozen)
        last = move.after.last_attempt
        if last is not None and self._is_new(last.attempt):
            # The process that saw the end may have died before it could tell.
            body = await self._read(rollout, record_name(rollout.name, last.revision, attempt=last.attempt))
            self._go_on_with(body, last.attempt)

    async def _find_forgotten(self, rollout: RolloutIdentity, move: Move) -> None:
        """Where a status was lost, close the records of attempts that it does not speak of any more."""
        self._open.clear()
        running = move.after.candidate
        for body in await self._all(rollout):
            record = _record_of(body)
            if record is None or record.wanted.outcome is not None:
                continue
            attempt = record.spec.attempt
            if attempt <= move.after.attempts and (running is None or attempt != running.attempt):
                record.wanted = with_unknown_end(record.wanted, move.now)
                self._open[attempt] = record

    def _is_new(self, attempt: int) -> bool:
        return attempt not in self._open and attempt > self._closed

    async def _open_running(
        self, rollout: RolloutIdentity, state: RolloutState, candidate: Candidate, frozen: FrozenForm
    ) -> None:
        name = record_name(rollout.name, candidate.revision, attempt=candidate.attempt)
        body = await self._read(rollout, name)
        if body is not None:
            self._go_on_with(body, candidate.attempt)
        elif (form := frozen(candidate)) is not None:
            stable = state.stable.revision if state.stable else None
            spec = record_spec(rollout, candidate, stable, form)
            self._open[spec.attempt] = _Record(spec, RolloutRecordStatus())

    def _go_on_with(self, body: Manifest | None, attempt: int) -> None:
        """Open a record that was found; one that is absent, broken or tells the end already is left alone."""
        record = None if body is None else _record_of(body)
        if record is None or record.wanted.outcome is not None:
            self._closed = max(self._closed, attempt)
        else:
            self._open[attempt] = record

    async def _keep(self, rollout: RolloutIdentity, record: _Record, move: Move) -> None:
        record.wanted = updated(record.spec, record.wanted, move)
        if self._is_due(record, move.now):
            record.tried_at = move.now
            await self._write(rollout, record)
        if record.stored == record.wanted and record.wanted.outcome is not None:
            del self._open[record.spec.attempt]
            self._closed = max(self._closed, record.spec.attempt)

    def _is_due(self, record: _Record, now: datetime) -> bool:
        if record.stored == record.wanted:
            return False
        rested = record.tried_at is None or (now - record.tried_at).total_seconds() >= self._pause
        return rested or (record.stored is not None and is_news(record.stored, record.wanted))

    async def _write(self, rollout: RolloutIdentity, record: _Record) -> None:
        """Write a record; one that changed or went since it was read is read again the next time."""
        body, record.body, record.stored = record.body, None, None
        if body is None:
            body = await self._made(rollout, record)
        if _status_of(body) != record.wanted:
            metadata = body["metadata"]
            place = (Kinds.RECORD, metadata["namespace"], metadata["name"])
            patch = versioned_patch(body, record.wanted.to_dict())
            body = await self._cluster.patch_status(*place, patch)
        record.body, record.stored = body, record.wanted
        self._told = ""

    async def _made(self, rollout: RolloutIdentity, record: _Record) -> Manifest:
        manifest = record_manifest(rollout, record.spec)
        try:
            body = await self._cluster.create(manifest)
        except ConflictError:
            found = await self._read(rollout, manifest["metadata"]["name"])
            if found is None:
                raise
            return found
        await self._prune(rollout)
        return body

    async def _read(self, rollout: RolloutIdentity, name: str) -> Manifest | None:
        try:
            body = await self._cluster.get(Kinds.RECORD, rollout.namespace, name)
        except NotFoundError:
            return None
        if controller_uid(body) != rollout.uid:
            raise NameTakenError(f"RolloutRecord {rollout.namespace}/{name} belongs to somebody else")
        return body

    async def _prune(self, rollout: RolloutIdentity) -> None:
        newest = sorted(await self._all(rollout), key=lambda body: int(body["spec"]["attempt"]), reverse=True)
        for body in newest[KEPT_RECORDS:]:
            metadata = body["metadata"]
            await self._cluster.delete(Kinds.RECORD, metadata["namespace"], metadata["name"], metadata["uid"])

    async def _all(self, rollout: RolloutIdentity) -> list[Manifest]:
        labels = {COMPONENT_LABEL: COMPONENT, ROLLOUT_LABEL: rollout.name}
        found = await self._cluster.list(Kinds.RECORD, rollout.namespace, labels)
        return [body for body in found if controller_uid(body) == rollout.uid]


def _record_of(body: Manifest) -> _Record | None:
    try:
        spec, status = parse_record(body), _status_of(body)
    except (InvalidSpec, ValidationError):
        return None
    return _Record(spec, status, body, status)


def _status_of(body: Manifest) -> RolloutRecordStatus:
    return RolloutRecordStatus.model_validate(body.get("status") or {})
