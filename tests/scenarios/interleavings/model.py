"""A rollout and its surroundings as one immutable value, small enough that all its futures can be visited.

One router, and every deadline one tick of time long: what a story in virtual time takes minutes for is
one step here. The state machine is the real one, and so is what it asks for; only the verdict of the
judge is a choice of the model. The status is kept as the state that it stands for.
No name of a pod is given twice, as in a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any

from chaffinch.agent.split import effective_weights
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec, OnFailure
from chaffinch.domain.commands import Command
from chaffinch.domain.machine import evidence_needed
from chaffinch.domain.manifests.engine import frozen_revision
from chaffinch.domain.observation import (
    Acknowledgement,
    ForeignEdit,
    FrozenRevision,
    Observation,
    Pod,
    RevisionSeen,
    RouterPod,
    RouterSeen,
)
from chaffinch.domain.revision import revision_of
from chaffinch.domain.route import RouteIntent, StoredRoute
from chaffinch.domain.router_edits import route_object
from chaffinch.domain.state import RolloutState
from chaffinch.domain.timing import Timing
from chaffinch.domain.verdict import EvidenceReason, Judgement, JudgeState, Outcome
from chaffinch.routing.route import Arm
from scenarios.interleavings.loads import Probes, measurement
from scenarios.specs import V1, V2, V3, rollout_spec, with_steps
from scenarios.world import ROLLOUT

EPOCH = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TICK = 10
TIMING = Timing(
    crash_loop_restarts=3,
    image_pull=10,
    acknowledgement=10,
    agents_lost=10,
    drain=10,
    retry=10,
    retry_longest=10,
    router_edits=2,
    router_quiet=10,
    load_retry=5,
    moment=5,
)
CRASHED = 3
SIGN_OFF = "sign-off"
CANARY_25, CANARY_50 = (
    {
        "name": f"canary-{weight}",
        "canary": {"weight": weight, "for": "10s", "maxWait": "10s", "require": "Proven"},
    }
    for weight in (25, 50)
)
APPROVAL: dict[str, Any] = {"name": SIGN_OFF, "approval": {}}
BAKE = {"name": "bake", "bake": {"for": "10s"}}
LOADS: tuple[dict[str, Any], ...] = (
    {"name": "warm-up", "warmUp": {"requests": 20, "concurrency": 4}},
    {"name": "probe", "probe": {"profile": "smoke/v1"}},
)


@dataclass(frozen=True)
class Size:
    """How large the model is.

    Attributes:
        pods: Pods per revision that the spec asks for at first.
        approval: Whether there is an approval step.
        half: Whether there is a step with half of the traffic.
        loads: Whether there are a warm-up and a probe step.
        on_failure: What becomes of a canary that misses an objective.
    """

    pods: int
    approval: bool
    half: bool
    loads: bool = False
    on_failure: OnFailure = OnFailure.ROLLBACK

    @property
    def strategy(self) -> dict[str, Any]:
        """The steps."""
        return with_steps(
            *(LOADS if self.loads else ()),
            CANARY_25,
            *((APPROVAL,) if self.approval else ()),
            *((CANARY_50,) if self.half else ()),
            BAKE,
            deadline="10s",
        )


JUDGEMENTS = {
    None: (Outcome.INCONCLUSIVE, EvidenceReason.NO_DATA, "nothing was counted"),
    Outcome.PASS: (Outcome.PASS, EvidenceReason.SUFFICIENT, "every objective passes"),
    Outcome.FAIL: (Outcome.FAIL, EvidenceReason.SUFFICIENT, "an objective fails"),
}


SMALL = Size(1, approval=False, half=False)


@cache
def spec_of(version: int, size: Size, replicas: int = 1) -> InferenceRolloutSpec:
    """Return the spec of a version."""
    image = {1: V1, 2: V2, 3: V3}[version]
    return rollout_spec(image, strategy=size.strategy, replicas=replicas, onFailure=size.on_failure.value)


@cache
def revision(version: int) -> str:
    """Return a version's revision."""
    return revision_of(spec_of(version, SMALL))


@cache
def moment(seconds: int) -> datetime:
    """Return a time of the model."""
    return EPOCH + timedelta(seconds=seconds)


def known_revision_of(spec: InferenceRolloutSpec) -> str:
    """Return the revision of one of the model's specs: taking the hash anew would be half of a pass."""
    return _REVISIONS[spec.engine.image]


@cache
def frozen(name: str) -> FrozenRevision:
    """Return a revision as it is kept."""
    version = next(each for each in (1, 2, 3) if revision(each) == name)
    return frozen_revision(ROLLOUT.name, name, spec_of(version, SMALL), 1)


_REVISIONS = {spec_of(version, SMALL).engine.image: revision(version) for version in (1, 2, 3)}


@dataclass(frozen=True, slots=True)
class ModelPod:
    """One pod; it is warm as long as its container is the one that a warm-up has reached."""

    number: int
    started: int
    ready: bool = False
    restarts: int = 0
    warm: bool = False

    @property
    def name(self) -> str:
        """Its name."""
        return f"pod-{self.number:03d}"


Pods = tuple[ModelPod, ...]


@cache
def seen_pod(pod: ModelPod) -> Pod:
    """Return what the API server says of a pod."""
    started = moment(pod.started)
    return Pod(
        pod.name, pod.name, started, ready=pod.ready, restarts=pod.restarts, started=started, accepted=True
    )


@cache
def _seen_revision(of: str, pods: Pods) -> RevisionSeen:
    return RevisionSeen(of, frozen(of), len(pods), tuple(map(seen_pod, pods)))


class Trouble(StrEnum):
    """Why a pass may decide nothing."""

    READ = "a read fails"
    NAME = "a name is taken"


@dataclass(frozen=True, slots=True)
class World:
    """Everything there is.

    Attributes:
        size: How large it is.
        replicas: How many pods the spec asks for.
        version: Which revision it asks for.
        seconds: The time.
        state: What the stored status remembers.
        pods: Pods by revision; one that is missing has no Deployment.
        probes: Load probes.
        route: The stored route.
        ours: The route that the operator wrote last; the stored one may be somebody else's.
        in_force: The route that the router has.
        silent: Whether the router cannot be asked.
        trouble: What keeps the operator from deciding anything.
        verdict: What the judge says in the pass that follows; None: nothing is measured.
        command: The command that waits.
        passed: Steps of the attempt whose pass is recorded.
        made: How many pods have been made.
    """

    size: Size
    replicas: int
    version: int = 1
    seconds: int = 0
    state: RolloutState = field(default_factory=RolloutState)
    pods: tuple[tuple[str, Pods], ...] = ()
    probes: Probes = ()
    route: StoredRoute | None = None
    ours: StoredRoute | None = None
    in_force: StoredRoute | None = None
    silent: bool = False
    trouble: Trouble | None = None
    verdict: Outcome | None = None
    command: Command | None = None
    passed: frozenset[int] = frozenset()
    made: int = 0

    @property
    def now(self) -> datetime:
        """The time as passes tell it."""
        return moment(self.seconds)

    @property
    def spec(self) -> InferenceRolloutSpec:
        """The spec."""
        return spec_of(self.version, self.size, self.replicas)

    def pods_of(self, of: str | None) -> Pods:
        """Return a revision's pods."""
        return next((pods for each, pods in self.pods if each == of), ())

    def with_pods(self, of: str, pods: Pods) -> World:
        """Return the world in which a revision has these pods."""
        others = tuple((each, kept) for each, kept in self.pods if each != of)
        return replace(self, pods=tuple(sorted((*others, (of, pods)))))

    def with_new_pods(self, of: str, kept: Pods, count: int) -> World:
        """Return the world in which a revision has some pods, and so many new ones."""
        new = (ModelPod(self.made + each, self.seconds) for each in range(count))
        return replace(self.with_pods(of, (*kept, *new)), made=self.made + count)

    def serving(self, of: str, admitted: tuple[str, ...] | None) -> bool:
        """Say whether a revision has a Ready endpoint, of those that are admitted."""
        ready = (pod for pod in self.pods_of(of) if pod.ready)
        return any(admitted is None or pod.name in admitted for pod in ready)

    def has_traffic(self, of: str) -> bool:
        """Say whether the router sends requests to a revision."""
        given = self.in_force.intent if self.in_force else None
        return given is not None and self._effective(given).get(of, 0) > 0

    def observe(self) -> Observation:
        """Return what a pass sees."""
        router = RouterPod("router", ready=self.route is not None, acknowledgement=self._acknowledgement())
        return Observation(
            ROLLOUT,
            tuple(_seen_revision(of, pods) for of, pods in self.pods),
            RouterSeen((router,), self.route),
            tuple(each.seen() for each in self.probes),
            edited=self._edited(),
            taken=("Service/chat",) if self.trouble is Trouble.NAME else (),
            problems=("the API server did not answer",) if self.trouble is Trouble.READ else (),
            commands=() if self.command is None else (self.command,),
        )

    def _edited(self) -> tuple[ForeignEdit, ...]:
        return () if self.route is self.ours else (ForeignEdit(route_object(ROLLOUT), "gitops"),)

    def _acknowledgement(self) -> Acknowledgement | None:
        given = self.in_force
        if given is None or self.silent:
            return None
        return Acknowledgement(given.epoch, given.sequence, self._effective(given.intent), {})

    def _effective(self, intent: RouteIntent) -> dict[str, int]:
        alive = {arm.revision for arm in intent.arms if self.serving(arm.revision, arm.pods)}
        arms = tuple(Arm(revision=arm.revision, weight=arm.weight) for arm in intent.arms)
        return effective_weights(arms, intent.stable, alive)

    def judgement(self) -> Judgement | None:
        """Return what the judge says, if the machine asks for evidence."""
        probe = measurement(self.state, self.probes)
        if probe is None and evidence_needed(self.state, self.now) is None:
            return None
        outcome, reason, detail = JUDGEMENTS[self.verdict if probe is None else probe.outcome]
        return Judgement(outcome, reason, detail, (), overdue=False, state=JudgeState())
