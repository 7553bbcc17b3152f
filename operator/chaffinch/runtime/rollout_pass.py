"""One look at a rollout: parse, gather, judge, step, desire, apply, record.

All decisions are made by functions of ``domain/`` (see :mod:`chaffinch.runtime.decision`); this module feeds
them and carries out what they say. A pass that fails anywhere has decided nothing that the next one would not
decide again: what must not repeat is in the status or in the route before it is acted on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_rollout
from chaffinch.api.v1alpha1.status import RolloutStatus, Writer
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain import machine
from chaffinch.domain.events import Event, events_of
from chaffinch.domain.machine import WriteOrder
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import Observation
from chaffinch.domain.rollout_status import invalid_spec_status
from chaffinch.domain.state import RolloutState
from chaffinch.domain.status_codec import state_of
from chaffinch.domain.status_update import is_due
from chaffinch.domain.timing import Timing
from chaffinch.ports.clock import Clock
from chaffinch.ports.cluster import (
    AdmissionDeniedError,
    Cluster,
    ConflictError,
    DeniedError,
    Kinds,
    Manifest,
    NotFoundError,
    QuotaExceededError,
    RejectedError,
)
from chaffinch.ports.evidence import EvidenceQuestion, EvidenceSource
from chaffinch.ports.recorder import Note, Recorder, Severity
from chaffinch.routing.envoy import router_manifests
from chaffinch.routing.settings import RouterSettings
from chaffinch.runtime.children import Address, Children
from chaffinch.runtime.decision import Answer, Question, comparison_of, decide
from chaffinch.runtime.gather import Gathered, Gatherer
from chaffinch.runtime.hub import Subject
from chaffinch.runtime.loop import GONE, Outcome
from chaffinch.runtime.metrics import Metrics, ObjectiveFigure, RolloutFigures
from chaffinch.runtime.route_store import write_route
from chaffinch.runtime.status import rollout_patch

_REFUSALS = {
    AdmissionDeniedError: "AdmissionDenied",
    QuotaExceededError: "QuotaExceeded",
    DeniedError: "Forbidden",
}


class Term(Protocol):
    """The term of leadership that writes are signed with."""

    @property
    def epoch(self) -> int:
        """Its number."""
        ...


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside that a pass deals with, and what the administrator has set."""

    cluster: Cluster
    gatherer: Gatherer
    evidence: EvidenceSource
    recorder: Recorder
    clock: Clock
    metrics: Metrics
    term: Term
    router: RouterSettings
    timing: Timing


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be carried out."""

    body: Manifest
    rollout: RolloutIdentity
    question: Question
    answer: Answer
    live: Mapping[Address, Manifest]
    outdated: Sequence[Manifest]


class RolloutPass:
    """Looks at one rollout. What it keeps between passes only saves reads and writes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._children = Children(world.cluster, world.clock, world.timing.idle)
        self._written_at: datetime | None = None

    async def look(self, subject: Subject) -> Outcome:
        """Do one pass.

        Raises:
            ClusterError: If something could not be read or written; the next pass decides anew.
        """
        try:
            body = await self._world.cluster.get(Kinds.ROLLOUT, subject.namespace, subject.name)
        except NotFoundError:
            return self._gone(subject)
        if body["metadata"]["uid"] != subject.uid:
            return self._gone(subject)
        if "deletionTimestamp" in body["metadata"]:
            return Outcome(self._world.timing.idle)
        return await self._look_at(body, RolloutIdentity(subject.namespace, subject.name, subject.uid))

    async def _look_at(self, body: Manifest, rollout: RolloutIdentity) -> Outcome:
        stored = body.get("status") or None
        previous = RolloutStatus.model_validate(stored) if stored else None
        generation, now = int(body["metadata"]["generation"]), self._world.clock.now()
        try:
            spec = parse_rollout(body)
        except InvalidSpec as error:
            status = invalid_spec_status(error.field_path, error.message, generation, previous, now)
            await self._record_status(body, previous, status, now)
            return Outcome(self._world.timing.idle)
        state = state_of(previous)
        question = Question(spec, generation, previous, state, now)
        gathered = await self._world.gatherer.gather(rollout, state.attempts, comparison_of(spec, state))
        seen = await self._with_evidence(gathered.seen, state, now)
        answer, live = await self._decide(question, gathered, seen)
        work = _Work(body, rollout, question, answer, live, gathered.outdated)
        await self._carry_out(work)
        self._publish(work)
        return Outcome(answer.next.requeue_after, failed=bool(seen.problems))

    async def _with_evidence(self, seen: Observation, state: RolloutState, now: datetime) -> Observation:
        asked = machine.evidence_needed(state, now)
        if asked is None or seen.problems:
            return seen
        evidence = await self._world.evidence.live(
            EvidenceQuestion(
                rollout_uid=seen.rollout.uid,
                attempt=asked.attempt,
                candidate=asked.candidate,
                stable=asked.control,
                since=asked.since,
                now=asked.until,
            )
        )
        return replace(seen, evidence=evidence)

    async def _decide(
        self, question: Question, gathered: Gathered, seen: Observation
    ) -> tuple[Answer, Mapping[Address, Manifest]]:
        """Decide; if that needs names that are taken, decide once more knowing so."""
        answer = decide(question, seen, self._world.timing)
        if not answer.next.act:
            return answer, {}
        manifests = (*self._manifests(seen.rollout, answer), *answer.wanted.scale_downs)
        live, taken = await self._children.survey(manifests, gathered.deployments)
        if taken:
            answer = decide(question, replace(seen, taken=taken), self._world.timing)
        return answer, live

    async def _carry_out(self, work: _Work) -> None:
        try:
            await self._write(work)
        except tuple(_REFUSALS) as error:
            reason = _REFUSALS[type(error)]
            await self._world.recorder.record(work.body, Note(Severity.WARNING, reason, "Apply", str(error)))
            raise

    async def _write(self, work: _Work) -> None:
        answer, wanted = work.answer, work.answer.wanted
        if not answer.next.act:
            await self._record(work)
            return
        if answer.next.order is WriteOrder.ROUTE_FIRST:
            await self._write_route(work)
            await self._record(work)
            await self._children.make(self._manifests(work.rollout, answer), work.live)
        else:
            await self._record(work)
            await self._children.make(self._manifests(work.rollout, answer), work.live)
            await self._write_route(work)
        await self._children.make(wanted.scale_downs, work.live)
        await self._children.delete(wanted.deletions, work.rollout.namespace, work.rollout.uid)
        for probe in work.outdated:
            metadata = probe["metadata"]
            await self._world.cluster.delete(
                Kinds.PROBE, work.rollout.namespace, metadata["name"], metadata["uid"]
            )

    def _manifests(self, rollout: RolloutIdentity, answer: Answer) -> tuple[Manifest, ...]:
        wanted = answer.wanted
        return (
            *wanted.foundations,
            *router_manifests(rollout, self._world.router),
            *wanted.workloads,
        )

    async def _write_route(self, work: _Work) -> None:
        order = work.answer.wanted.route
        if order.changed:
            await write_route(self._world.cluster, work.rollout, self._world.term.epoch, order)

    async def _record(self, work: _Work) -> None:
        question, answer = work.question, work.answer
        await self._record_status(work.body, question.previous, answer.status, question.now)
        for event in events_of(question.state, answer.next.state):
            await self._world.recorder.record(work.body, _note(event))

    async def _record_status(
        self, body: Manifest, previous: RolloutStatus | None, status: RolloutStatus, now: datetime
    ) -> None:
        if not is_due(previous, status, self._written_at, now, self._world.timing):
            return
        writer = previous.writer if previous else None
        signed = status.model_copy(
            update={
                "writer": Writer(epoch=self._world.term.epoch, sequence=writer.sequence + 1 if writer else 1)
            }
        )
        await self._patch(body, signed)
        self._written_at = now

    async def _patch(self, body: Manifest, status: RolloutStatus) -> None:
        metadata, cluster = body["metadata"], self._world.cluster
        namespace, name = metadata["namespace"], metadata["name"]
        patch = rollout_patch(body, status.to_dict())
        try:
            await cluster.patch_status(Kinds.ROLLOUT, namespace, name, patch)
        except RejectedError:
            # A failed test and a status that the schema refuses look the same; the writer tells them apart.
            found = await cluster.get(Kinds.ROLLOUT, namespace, name)
            if _writer_of(found) != _writer_of(body) or found["metadata"]["uid"] != metadata["uid"]:
                raise ConflictError("the status was written by somebody else in between") from None
            raise

    def _publish(self, work: _Work) -> None:
        state, judgement = work.answer.next.state, work.answer.judgement
        weight = state.candidate.weight / FULL_WEIGHT if state.candidate else 0.0
        figures = tuple(
            ObjectiveFigure(verdict.gate.objective, verdict.value, verdict.control)
            for verdict in (judgement.verdicts if judgement else ())
        )
        phase = work.answer.status.phase
        self._world.metrics.rollout(
            work.rollout.namespace,
            work.rollout.name,
            RolloutFigures(phase.value if phase else "", state.stage.value, weight, figures),
        )

    def _gone(self, subject: Subject) -> Outcome:
        self._world.metrics.forget_rollout(subject.namespace, subject.name)
        return GONE


def _writer_of(body: Manifest) -> object:
    return (body.get("status") or {}).get("writer")


def _note(event: Event) -> Note:
    severity = Severity.WARNING if event.warning else Severity.NORMAL
    return Note(severity, event.reason, event.action, event.message)
