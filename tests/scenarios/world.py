"""A cluster in virtual time, as far as the state machine can tell: it reacts to what is desired.

Pods start, crash and leave; routers acknowledge routes some seconds later and drop arms that have no Ready
pod; load probes end; requests are counted. Nothing sleeps and nothing is random.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from chaffinch.agent.split import effective_weights
from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.domain.commands import AnsweredCommand, Command
from chaffinch.domain.evidence import ArmEvidence, Evidence, NoEvidence, Problem
from chaffinch.domain.machine import EvidenceQuestion
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import (
    Acknowledgement,
    BaselineSeen,
    ForeignEdit,
    FrozenRevision,
    Observation,
    Pod,
    ProbeSeen,
    RevisionSeen,
    RouterPod,
    RouterSeen,
)
from chaffinch.domain.route import RouteIntent, RouteOrder, StoredRoute
from chaffinch.domain.router_edits import route_object
from chaffinch.routing.route import Arm
from scenarios.engines import Behaviour, LivePod
from scenarios.evidence import arm
from scenarios.writers import OtherWriter

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ROLLOUT = RolloutIdentity("llm", "chat", "uid-of-chat")
ROUTE = route_object(ROLLOUT)
LEAVING = timedelta(seconds=15)
ACKNOWLEDGED_AFTER = timedelta(seconds=3)
BLOCK_SECONDS = 10
REQUESTS_PER_SECOND = 40


@dataclass
class LiveProbe:
    """One LoadProbe of the world."""

    name: str
    made: datetime
    pods: tuple[tuple[str, int], ...]
    measures: bool
    revision: str
    end: ProbeSeen | None = None


@dataclass
class World:
    """Everything outside of the operator. Attributes that stories set come first."""

    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    evidence_problem: Problem | None = None
    load_takes: timedelta = timedelta(seconds=30)
    load_may_take: timedelta = timedelta(minutes=10)
    baseline: BaselineSeen | None = None
    routers_stuck: bool = False
    routers_silent: bool = False
    open_requests: dict[str, int] = field(default_factory=dict)
    unseen_by_routers: set[str] = field(default_factory=set)
    probes_fail: bool = False
    probe_result: ArmEvidence | NoEvidence | None = None
    taken: tuple[str, ...] = ()
    room: int = 100
    never_leaves: set[str] = field(default_factory=set)
    commands: list[Command] = field(default_factory=list)
    other_writer: OtherWriter | None = None
    turned_away_since: dict[str, datetime] = field(default_factory=dict)
    tries_per_second: int = 1

    now: datetime = START
    frozen: dict[str, FrozenRevision] = field(default_factory=dict)
    replicas: dict[str, int] = field(default_factory=dict)
    pods: list[LivePod] = field(default_factory=list)
    probes: dict[str, LiveProbe] = field(default_factory=dict)
    route: StoredRoute | None = None
    in_force: StoredRoute | None = None
    route_written: datetime = START
    edited: dict[str, ForeignEdit] = field(default_factory=dict)
    foreign_writes: int = 0
    put_back: Counter[str] = field(default_factory=Counter)
    pods_made: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    hindered: set[str] = field(default_factory=set)
    unready_until: dict[str, datetime] = field(default_factory=dict)
    answers: dict[str, AnsweredCommand] = field(default_factory=dict)
    _names: int = 0

    def behaviour(self, revision: str) -> Behaviour:
        """Return how a revision's pods behave."""
        return self.behaviours.get(revision, Behaviour())

    def pass_time(self, seconds: float) -> None:
        """Let time pass, second by second."""
        for _ in range(int(seconds)):
            self.now += timedelta(seconds=1)
            self._live()

    def _live(self) -> None:
        for _ in range(self.tries_per_second):
            for pod in self.pods:
                pod.live(self.now, self._behaviour_of(pod))
            self.pods = [pod for pod in self.pods if not self._has_left(pod)]
            for revision in {pod.revision for pod in self.pods if pod.failed is not None}:
                self._resize(revision)
        if self.other_writer is not None:
            self._overwrite(self.other_writer)
        late = self.now >= self.route_written + ACKNOWLEDGED_AFTER
        if self.route is not None and late and not self.routers_stuck and not self._refused(self.route):
            self.in_force = self.route

    def _behaviour_of(self, pod: LivePod) -> Behaviour:
        """Return how a pod behaves: those of a revision that were made in time are not turned away."""
        behaviour, since = self.behaviour(pod.revision), self.turned_away_since.get(pod.revision)
        is_late = since is not None and pod.created >= since
        return replace(behaviour, turned_away="UnexpectedAdmissionError") if is_late else behaviour

    def _overwrite(self, writer: OtherWriter) -> None:
        """Let somebody else change an object of the router, if it is time and it is not as they want it."""
        if not writer.is_due(self.now) or writer.object in self.edited:
            return
        self.edited[writer.object] = ForeignEdit(writer.object, writer.name)
        self.foreign_writes += 1
        if writer.object == ROUTE and self.route is not None:
            self.route = writer.other_route(self.route, self.now)
            self.route_written = self.now

    def put_object_back(self, name: str) -> None:
        """Let the operator write an object of the router that somebody else has changed."""
        del self.edited[name]
        self.put_back[name] += 1

    def _has_left(self, pod: LivePod) -> bool:
        """Say whether a pod that was told to end has ended, as pods do but those of a dead node."""
        leaving = pod.terminating_since
        return leaving is not None and self.now >= leaving + LEAVING and pod.revision not in self.never_leaves

    def _refused(self, route: StoredRoute) -> bool:
        """Say whether agents refuse a route because they have a newer one."""
        given = self.in_force
        return given is not None and (route.epoch, route.sequence) < (given.epoch, given.sequence)

    def lose_pods(self, revision: str, count: int) -> None:
        """Lose some pods of a revision to their node: the Deployment replaces them."""
        for pod in self._of(revision)[:count]:
            self.pods.remove(pod)
        self._resize(revision)

    def lose_pods_named(self, names: list[str]) -> None:
        """Lose certain pods to their node: their Deployments replace them."""
        gone = [pod for pod in self.pods if pod.name in names]
        self.pods = [pod for pod in self.pods if pod.name not in names]
        for revision in {pod.revision for pod in gone}:
            self._resize(revision)

    def evict_pods(self, revision: str, count: int) -> None:
        """Let nodes evict some pods of a revision: they stay as Failed, and the Deployment replaces them."""
        for pod in self._of(revision)[:count]:
            pod.failed = "Evicted"
        self._resize(revision)

    def restart_pod(self, revision: str) -> None:
        """Let the container of one pod of a revision end and start again."""
        pod = self._of(revision)[0]
        pod.restarts, pod.started = pod.restarts + 1, self.now

    def hinder_newest_pod(self, revision: str) -> None:
        """Let a revision's newest pod be on a node that cannot pull its image."""
        self.hindered.add(max(self._of(revision), key=lambda pod: pod.created).name)

    def blink(self, revision: str, count: int, seconds: float) -> None:
        """Let some pods of a revision not be Ready for a while, though their containers run on."""
        for pod in self._of(revision)[:count]:
            self.unready_until[pod.name] = self.now + timedelta(seconds=seconds)

    def _of(self, revision: str) -> list[LivePod]:
        return [
            pod
            for pod in self.pods
            if pod.revision == revision and pod.terminating_since is None and pod.failed is None
        ]

    def _resize(self, revision: str) -> None:
        present, wanted = self._of(revision), self.replicas.get(revision, 0)
        for pod in present[wanted:]:
            pod.terminating_since = self.now
        if self.behaviour(revision).refused is not None:
            return
        for _ in range(wanted - len(present)):
            self._names += 1
            self.pods_made[revision] += 1
            name = f"chat-{revision}-p{self._names}"
            unplaced = len(self.pods) >= self.room
            self.pods.append(LivePod(name, revision, self.now, self.now, unplaced=unplaced))

    def make_room(self) -> None:
        """Let all pods that wait for a node start on one."""
        self.room = 100
        for pod in self.pods:
            if pod.unplaced:
                pod.unplaced, pod.started = False, self.now

    # What the operator writes

    def apply(self, manifest: dict[str, Any]) -> None:
        """Write an object, as the API server would."""
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        self.made[f"{kind}/{name}"] += 1
        revision = manifest["metadata"]["labels"]["chaffinch.dev/revision"]
        if kind == "ControllerRevision":
            data = manifest["data"]
            self.frozen[revision] = FrozenRevision(
                manifest["revision"],
                data["hashVersion"],
                data["template"],
                data["spec"],
                data["startupSeconds"],
            )
        elif kind == "Deployment":
            self.replicas[revision] = manifest["spec"]["replicas"]
            self._resize(revision)
        elif kind == "LoadProbe":
            self._start_probe(name, revision, manifest["spec"])

    def _start_probe(self, name: str, revision: str, spec: dict[str, Any]) -> None:
        restarts = {pod.name: pod.restarts for pod in self.pods}
        pods = tuple((pod, restarts.get(pod, -1)) for pod in spec["target"]["pods"])
        self.probes[name] = LiveProbe(name, self.now, pods, "profile" in spec, revision)

    def write_route(self, order: RouteOrder, epoch: int) -> None:
        """Write the route, compared with the version that the operator has seen."""
        version = self.route.resource_version if self.route else None
        assert order.resource_version == version, "the route was written by someone else"
        epoch = max(epoch, order.epoch)
        self.route = StoredRoute(epoch, order.sequence, f"v{epoch}.{order.sequence}", order.intent)
        if ROUTE in self.edited:
            self.put_object_back(ROUTE)
        self.route_written = self.now

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, if it exists."""
        if kind == "LoadProbe":
            self.probes.pop(name, None)
        revision = name.rsplit("-", 1)[1]
        if kind == "ControllerRevision":
            self.frozen.pop(revision, None)
        if kind == "Deployment":
            self.replicas.pop(revision, None)
            self._resize(revision)

    def answer_command(self, answer: AnsweredCommand) -> None:
        """Write an answer into its command: it gets one only once."""
        assert answer.uid not in self.answers
        self.answers[answer.uid] = answer

    # What the operator reads

    def observe(self) -> Observation:
        """Return what a pass sees, but for evidence."""
        return Observation(
            rollout=ROLLOUT,
            revisions=tuple(self.revision(each) for each in sorted({*self.frozen, *self.replicas})),
            router=RouterSeen(self._router_pods(), self.route),
            probes=tuple(self._probe(each) for each in self.probes.values()),
            baseline=self.baseline,
            taken=self.taken,
            edited=tuple(self.edited.values()),
            problems=self.problems,
            commands=tuple(each for each in self.commands if each.uid not in self.answers),
        )

    def revision(self, revision: str) -> RevisionSeen:
        """Return what is seen of a revision."""
        pods = tuple(self._pod(pod) for pod in self.pods if pod.revision == revision)
        short = len(self._of(revision)) < self.replicas.get(revision, 0)
        return RevisionSeen(
            revision,
            self.frozen.get(revision),
            self.replicas.get(revision),
            tuple(sorted(pods, key=lambda pod: pod.name)),
            self.behaviour(revision).refused if short else None,
        )

    def _pod(self, pod: LivePod) -> Pod:
        seen = pod.seen(self.now, self.behaviour(pod.revision))
        if self.now > pod.started and not seen.unschedulable:
            seen = replace(seen, started=pod.started, accepted=pod.failed is None)
        if pod.name in self.hindered:
            return replace(seen, ready=False, ready_since=None, waiting="ImagePullBackOff")
        if self.now < self.unready_until.get(pod.name, START):
            return replace(seen, ready=False, ready_since=None)
        return seen

    def serving(self, revision: str, admitted: tuple[str, ...] | None = None) -> list[Pod]:
        """Return the Ready endpoints of a revision, of those that are admitted."""
        pods = [pod for pod in self.revision(revision).pods if pod.serves]
        return pods if admitted is None else [pod for pod in pods if pod.name in admitted]

    def effective_weights(self, intent: RouteIntent) -> dict[str, int]:
        """Return what routers make of a route."""
        alive = {
            arm.revision
            for arm in intent.arms
            if arm.revision not in self.unseen_by_routers and self.serving(arm.revision, arm.pods)
        }
        arms = tuple(Arm(revision=arm.revision, weight=arm.weight) for arm in intent.arms)
        return effective_weights(arms, intent.stable, alive)

    def _router_pods(self) -> tuple[RouterPod, ...]:
        if self.in_force is None:
            return (RouterPod("router-1", ready=self.route is not None, acknowledgement=None),)
        given = self.in_force
        if self.routers_silent:
            return tuple(RouterPod(f"router-{i}", ready=True, acknowledgement=None) for i in (1, 2))
        weights = self.effective_weights(given.intent)
        acknowledgement = Acknowledgement(given.epoch, given.sequence, weights, dict(self.open_requests))
        return tuple(RouterPod(f"router-{i}", ready=True, acknowledgement=acknowledgement) for i in (1, 2))

    def _probe(self, probe: LiveProbe) -> ProbeSeen:
        if probe.end is None:
            probe.end = self._end_of(probe)
        ends_by = probe.made + self.load_may_take
        return probe.end or ProbeSeen(
            probe.name, f"uid-of-{probe.name}", ProbePhase.RUNNING, deadline=ends_by
        )

    def _end_of(self, probe: LiveProbe) -> ProbeSeen | None:
        """Return how a probe has just ended; None if it goes on."""
        there = {(pod.name, pod.restarts) for pod in self.pods if pod.terminating_since is None}
        lost = not set(probe.pods) <= there
        if self.probes_fail or (lost and not probe.measures):
            return self._ended(probe, ProbePhase.FAILED, None, "The worker ended without a result.")
        if lost:
            # Requests to a pod that is gone fail, and the probe counts them.
            return self._ended(probe, ProbePhase.SUCCEEDED, arm(2_000, errors=1.0))
        if self.now < probe.made + (self.load_takes if probe.measures else timedelta(seconds=5)):
            return None
        result = self.probe_result or self._arm(probe.revision, 2_000)
        return self._ended(probe, ProbePhase.SUCCEEDED, result if probe.measures else None)

    def _ended(
        self,
        probe: LiveProbe,
        phase: ProbePhase,
        result: ArmEvidence | NoEvidence | None,
        message: str = "",
    ) -> ProbeSeen:
        return ProbeSeen(probe.name, f"uid-of-{probe.name}", phase, self.now, result, message)

    def warmed_by(self, probe: ProbeSeen) -> tuple[tuple[str, int], ...]:
        """Return the pods, with their restarts, that a warm-up has reached."""
        live = self.probes[probe.name]
        return live.pods if probe.phase is ProbePhase.SUCCEEDED and not live.measures else ()

    def answer(self, question: EvidenceQuestion) -> Evidence | NoEvidence:
        """Count requests: those of whole blocks since the step's weight was acknowledged."""
        if self.evidence_problem is not None:
            return NoEvidence(self.evidence_problem, "the source of evidence is in trouble")
        blocks = int((question.until - question.since).total_seconds() // BLOCK_SECONDS)
        if blocks == 0 or self.in_force is None:
            return NoEvidence(Problem.NO_DATA, "no block has matured yet")
        requests = blocks * BLOCK_SECONDS * REQUESTS_PER_SECOND
        share = self.in_force.intent.weight_of(question.candidate) / 10_000
        until = question.since + timedelta(seconds=blocks * BLOCK_SECONDS)
        control = None
        if question.control is not None:
            control = self._arm(question.control, round(requests * (1 - share)))
        return Evidence(self._arm(question.candidate, round(requests * share)), control, until)

    def _arm(self, revision: str, requests: int) -> ArmEvidence:
        behaviour = self.behaviour(revision)
        return arm(requests, slowness=behaviour.slowness, errors=behaviour.errors)

    def with_baseline(self, name: str) -> None:
        """Let a baseline exist that was measured on an engine like the first version."""
        self.baseline = BaselineSeen(
            name, found=True, uid="uid-of-baseline", digest="sha256:" + "a" * 64, gate=arm(2_000)
        )
