"""One pass of a rollout: parse, gather, judge, step, desire, apply, record.

All decisions are made by functions of ``domain/`` (see :mod:`chaffinch.runtime.decision`); this module feeds
them and carries out what they say. A pass that fails anywhere has decided nothing that the next one would not
decide again: what must not repeat is in the status or in the route before it is acted on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_rollout
from chaffinch.api.v1alpha1.reasons import CommandReason, Reason
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.domain import machine
from chaffinch.domain.attempt_spec import spec_of_attempt
from chaffinch.domain.desired import ObjectReference, deletions, scale_downs, stable_growing
from chaffinch.domain.draining import left_over
from chaffinch.domain.events import Event, events_of
from chaffinch.domain.machine import WriteOrder
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import ForeignEdit, Observation, WriteRefusal
from chaffinch.domain.record import Move, found_by, frozen_form
from chaffinch.domain.rollout_status import asked_for, invalid_spec_status
from chaffinch.domain.router_edits import left_alone, route_object
from chaffinch.domain.state import RolloutState
from chaffinch.domain.status_codec import state_of
from chaffinch.domain.timing import Timing
from chaffinch.ports.clock import Clock
from chaffinch.ports.cluster import (
    AdmissionDeniedError,
    Cluster,
    DeniedError,
    Kinds,
    Manifest,
    QuotaExceededError,
    RejectedError,
)
from chaffinch.ports.evidence import EvidenceQuestion, EvidenceSource
from chaffinch.ports.recorder import Note, Recorder, Severity
from chaffinch.routing.envoy import router_manifests
from chaffinch.routing.pinning import pinned
from chaffinch.routing.settings import RouterSettings
from chaffinch.runtime.children import Children
from chaffinch.runtime.commands import Replies
from chaffinch.runtime.decision import Answer, Question, comparison_of, decide
from chaffinch.runtime.foreign_edits import of_router
from chaffinch.runtime.gather import Gathered, Gatherer
from chaffinch.runtime.hub import Subject
from chaffinch.runtime.logbook import Logbook
from chaffinch.runtime.loop import Outcome
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.reading import Address, address_of
from chaffinch.runtime.recording import Recording
from chaffinch.runtime.rollout_metrics import ObjectiveFigure, RolloutFigures
from chaffinch.runtime.route_store import write_route
from chaffinch.runtime.status import stored_status
from chaffinch.runtime.status_record import StatusRecord, Term
from chaffinch.runtime.subjects import read_subject
from chaffinch.runtime.tracing import note_decision
from chaffinch.runtime.wanted import Wanted

_ALLOW = "remove what forbids it"
_MEND = (
    "mend the field of the spec that this comes from; if there is none, it is a fault of Chaffinch to report"
)
_REFUSALS = {
    AdmissionDeniedError: (Reason.ADMISSION_DENIED, _ALLOW),
    QuotaExceededError: (Reason.QUOTA_EXCEEDED, _ALLOW),
    DeniedError: (Reason.FORBIDDEN, _ALLOW),
    RejectedError: (Reason.ADMISSION_DENIED, _MEND),
}
"""What an error means, and what a person can do about it."""


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
    """One pass: what it starts from, what it has read, what it comes to."""

    body: Manifest
    question: Question
    seen: Observation
    gathered: Gathered
    answer: Answer


class RolloutPass:
    """Does the passes of one rollout.

    What it keeps between passes saves reads and writes, and explains refusals; nothing is decided from it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._children = Children(world.cluster, world.clock, world.timing.unseen)
        self._statuses = StatusRecord(world.cluster, world.term, world.timing)
        self._replies = Replies(world.cluster, world.metrics)
        self._recording = Recording(world.cluster, world.metrics, world.timing.objectives)
        self._logbook = Logbook()
        self._refusal: WriteRefusal | None = None
        self._untold: RolloutState | None = None

    async def run(self, subject: Subject) -> Outcome:
        """Do one pass.

        Raises:
            ClusterError: If something could not be read or written; the next pass decides anew.
        """
        body = await read_subject(self._world.cluster, Kinds.ROLLOUT, subject, self._world.timing.idle)
        if isinstance(body, Outcome):
            return body
        return await self._run_on(body, RolloutIdentity(subject.namespace, subject.name, subject.uid))

    async def _run_on(self, body: Manifest, rollout: RolloutIdentity) -> Outcome:
        previous, parsed = stored_status(body), _parsed(body)
        state, now = state_of(previous), self._world.clock.now()
        broken = parsed if isinstance(parsed, InvalidSpec) else None
        written = None if isinstance(parsed, InvalidSpec) else parsed
        made = datetime.fromisoformat(body["metadata"]["creationTimestamp"])
        gathered = await self._world.gatherer.gather(rollout, made, state, comparison_of(written, state))
        self._logbook.read(gathered.seen)
        # An attempt is frozen when it begins: an edit that breaks a rule keeps no harm from being found, and
        # nobody from aborting.
        spec = written or spec_of_attempt(state, gathered.seen, asked_for(previous))
        generation = int(body["metadata"]["generation"])
        if spec is not None:
            question = Question(spec, generation, previous, state, now, broken)
            return await self._go_on(body, question, gathered)
        if broken is None or gathered.seen.problems:
            return Outcome(self._world.timing.active, failed=True)
        status = invalid_spec_status(broken.field_path, broken.message, generation, previous, now)
        await self._statuses.record(body, previous, status, now)
        self._world.metrics.rollouts.publish(rollout.namespace, rollout.name, RolloutFigures(status, now))
        return await self._stand_still(gathered, state, broken, asked_for(previous), now)

    async def _go_on(self, body: Manifest, question: Question, gathered: Gathered) -> Outcome:
        work = await self._carried_out(await self._work(body, question, gathered))
        self._publish(work)
        return self._again_in(work.answer.next.requeue_after, failed=bool(work.seen.problems))

    def _again_in(self, seconds: float, *, failed: bool = False) -> Outcome:
        again_in = self._replies.again_in(seconds, self._world.timing.active)
        return Outcome(again_in, failed=failed, exactly=self._replies.owing, wrote=self._statuses.written)

    async def _stand_still(
        self,
        gathered: Gathered,
        state: RolloutState,
        broken: InvalidSpec,
        replicas: int | None,
        now: datetime,
    ) -> Outcome:
        """Nothing is tried, and the spec tells nothing: refuse commands, end what was begun with pods."""
        timing, last, seen = self._world.timing, state.last_command, gathered.seen
        await self._replies.give(gathered.commands, last)
        message = f"The rollout's spec breaks a rule ({broken}): mend it, then create another command."
        others = [body for uid, body in gathered.commands.items() if last is None or uid != last.uid]
        await self._replies.refuse(others, CommandReason.INVALID_SPEC, message, now)
        if state.stable is None:
            return self._again_in(timing.stalled)
        going = deletions(state, seen, now, timing)
        growing = stable_growing(state, seen, replicas, now, timing)
        scaled = (*growing, *scale_downs(state, seen, now, timing))
        await self._let_go(gathered, gathered.live, scaled, going)
        pace = timing.active if growing or left_over(state, seen) else timing.stalled
        return self._again_in(pace)

    async def _work(self, body: Manifest, question: Question, gathered: Gathered) -> _Work:
        seen = await self._with_evidence(replace(gathered.seen, refusal=self._refusal), question)
        answer = decide(question, seen, self._world.timing)
        note_decision(question, seen, answer)
        return _Work(body, question, seen, gathered, answer)

    async def _with_evidence(self, seen: Observation, question: Question) -> Observation:
        asked = machine.evidence_needed(question.state, question.now)
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

    async def _carried_out(self, work: _Work) -> _Work:
        """Write what the pass has come to; return the work, which knows of taken names by then."""
        try:
            if work.answer.next.act and work.answer.next.order is WriteOrder.ROUTE_FIRST:
                await self._act_route_first(work)
            elif work.answer.next.act:
                work = await self._act_status_first(work)
            else:
                await self._record(work)
        except tuple(_REFUSALS) as error:
            reason, remedy = _REFUSALS[type(error)]
            refusal = WriteRefusal(reason, str(error), remedy)
            if refusal != self._refusal:
                self._refusal = refusal
                note = Note(Severity.WARNING, refusal.reason, "Apply", refusal.message)
                await self._world.recorder.record(work.body, note)
            raise
        if work.answer.next.act:
            self._refusal = None
        return work

    async def _act_route_first(self, work: _Work) -> None:
        # Nothing may stand between a verdict and the route, not even a look at other objects.
        await self._write_route(work)
        await self._record(work)
        wanted = self._wanted(work)
        live, _ = await self._children.survey(wanted, work.gathered.live)
        edits = self._children.edited(of_router(wanted), live)
        # What others have changed is put back by the next pass, which counts it first.
        await self._children.make(_without(wanted, {edit.object for edit in edits}), live)
        await self._clean_up(work, live)

    async def _act_status_first(self, work: _Work) -> _Work:
        wanted = self._wanted(work)
        live, taken = await self._children.survey(wanted, work.gathered.live)
        if taken:
            seen = replace(work.seen, taken=taken)
            work = replace(work, seen=seen, answer=decide(work.question, seen, self._world.timing))
            await self._record(work)
            return work
        if edits := self._children.edited(of_router(wanted), live):
            work = self._with_edits(work, edits)
            wanted = self._wanted(work)
        route_first = work.answer.next.order is WriteOrder.ROUTE_FIRST
        if route_first:
            await self._write_route(work)
        await self._record(work)
        await self._children.make(_without(wanted, _left_alone(work)), live)
        if not route_first:
            await self._write_route(work)
        await self._clean_up(work, live)
        return work

    def _with_edits(self, work: _Work, edits: tuple[ForeignEdit, ...]) -> _Work:
        """Return the work that knows what others have changed: the decision may be another one then."""
        seen = replace(work.seen, edited=(*work.seen.edited, *edits))
        return replace(work, seen=seen, answer=decide(work.question, seen, self._world.timing))

    async def _clean_up(self, work: _Work, live: Mapping[Address, Manifest]) -> None:
        wanted, known = work.answer.wanted, {**work.gathered.live, **live}
        await self._let_go(work.gathered, known, wanted.scale_downs, wanted.deletions)

    async def _let_go(
        self,
        gathered: Gathered,
        live: Mapping[Address, Manifest],
        scaled: Sequence[Manifest],
        deleted: Sequence[ObjectReference],
    ) -> None:
        rollout = gathered.seen.rollout
        await self._children.make([Wanted(each) for each in scaled], live)
        await self._children.delete(deleted, rollout.namespace, rollout.uid)
        for probe in gathered.outdated:
            name, uid = probe["metadata"]["name"], probe["metadata"]["uid"]
            await self._world.cluster.delete(Kinds.PROBE, rollout.namespace, name, uid)

    def _wanted(self, work: _Work) -> tuple[Wanted, ...]:
        wanted = work.answer.wanted
        router: tuple[Manifest, ...] = router_manifests(work.seen.rollout, self._world.router)
        if work.answer.next.state.stage is not RolloutStage.DEPLOYING:
            router = tuple(_as_it_is(each, work.gathered.live) for each in router)
        return tuple(Wanted(each) for each in (*wanted.foundations, *router, *wanted.workloads))

    async def _write_route(self, work: _Work) -> None:
        order = work.answer.wanted.route
        if order.changed and route_object(work.seen.rollout) not in _left_alone(work):
            await write_route(self._world.cluster, work.seen.rollout, self._world.term.epoch, order)

    async def _record(self, work: _Work) -> None:
        question, after = work.question, work.answer.next.state
        # A status whose write failed may have been stored for all that: the next pass begins with it then,
        # and would find no transition to tell of.
        before = self._untold = self._untold or question.state
        await self._statuses.record(work.body, question.previous, work.answer.status, question.now)
        await self._replies.give(work.gathered.commands, after.last_command)
        await self._keep_records(work)
        self._untold = None
        for move in (before, question.state), (question.state, after):
            await self._tell(work, *move)

    async def _tell(self, work: _Work, before: RolloutState, after: RolloutState) -> None:
        rollout, last = work.seen.rollout, after.last_attempt
        self._logbook.moved(rollout, before, after)
        if last is not None and last != before.last_attempt:
            self._world.metrics.rollouts.ended(rollout.namespace, rollout.name, last.outcome, last.cause)
        for event in events_of(before, after):
            await self._world.recorder.record(work.body, _note(event))

    async def _keep_records(self, work: _Work) -> None:
        question, answer = work.question, work.answer
        if work.seen.problems:
            return
        stored = question.previous.objectives if question.previous else ()
        found = found_by(answer.judgement, question.state, question.now, stored)
        move = Move(question.state, answer.next.state, found, question.now)
        await self._recording.follow(
            work.seen.rollout, move, lambda candidate: frozen_form(question.spec, work.seen, candidate)
        )

    def _publish(self, work: _Work) -> None:
        judgement = work.answer.judgement
        objectives = tuple(
            ObjectiveFigure(verdict.gate.objective, verdict.value, verdict.control)
            for verdict in (judgement.verdicts if judgement else ())
        )
        figures = RolloutFigures(work.answer.status, work.question.now, objectives, work.seen.evidence)
        rollout = work.seen.rollout
        self._world.metrics.rollouts.publish(rollout.namespace, rollout.name, figures)


def _parsed(body: Manifest) -> InferenceRolloutSpec | InvalidSpec:
    try:
        return parse_rollout(body)
    except InvalidSpec as error:
        return error


def _as_it_is(manifest: Manifest, live: Mapping[Address, Manifest]) -> Manifest:
    """Return a router's manifest that restarts no router; only the start of an attempt may."""
    if manifest["kind"] != Kinds.DEPLOYMENT.kind:
        return manifest
    return pinned(manifest, live.get(address_of(manifest)))


def _left_alone(work: _Work) -> frozenset[str]:
    return left_alone(work.seen, mends=work.answer.next.mends)


def _without(wanted: Sequence[Wanted], objects: Set[str]) -> tuple[Wanted, ...]:
    return tuple(one for one in wanted if "/".join(one.address) not in objects)


def _note(event: Event) -> Note:
    severity = Severity.WARNING if event.warning else Severity.NORMAL
    return Note(severity, event.reason, event.action, event.message)
