"""Everything that one pass has gathered, as frozen values.

A read that failed is data too: it is named in :attr:`Observation.problems`, and a pass that lacks
one of its reads decides nothing. Nothing here has a default that could be mistaken for "all is
well": an absent value is None or an empty tuple, and each check says what it makes of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.domain.commands import Command
from chaffinch.domain.evidence import ArmEvidence, Evidence, NoEvidence
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.route import StoredRoute


class CreationRefusal(StrEnum):
    """Why the API server refuses a Deployment's pods. The values are reasons of conditions."""

    QUOTA = "QuotaExceeded"
    ADMISSION = "AdmissionDenied"


@dataclass(frozen=True, slots=True)
class Termination:
    """How a container ended last time."""

    exit_code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Pod:
    """One engine pod.

    Attributes:
        name: The pod's name; a replaced pod has another one.
        uid: Its uid.
        ip: Its address, once it has one.
        ready: Whether the pod is Ready *now*.
        ready_since: Since when it is; None if it is not.
        created: When it was made.
        restarts: Restarts of its ``engine`` container.
        waiting: Why the container waits (``ImagePullBackOff``, ``CrashLoopBackOff``, ...), if it does.
        last_termination: How the container ended last time, if it ever did.
        unschedulable: Whether the scheduler finds no node for it.
        terminating: Whether it is being deleted.
        failed: Why it is over for good (``Evicted``, ...), if it is; ``Completed`` if its engine ended in
            good order. Engines are restarted, so that only their node, or their deletion, brings this about.
        started: When its ``engine`` container was started, if it runs.
        accepted: Whether its node has taken it up; if not, the node may still turn it away. It tells nothing
            of its image and its engine.
    """

    name: str
    uid: str
    created: datetime
    ip: str | None = None
    ready: bool = False
    ready_since: datetime | None = None
    restarts: int = 0
    waiting: str | None = None
    last_termination: Termination | None = None
    unschedulable: bool = False
    terminating: bool = False
    failed: str | None = None
    started: datetime | None = None
    accepted: bool = False

    @property
    def serves(self) -> bool:
        """Whether its Service has it as a Ready endpoint."""
        return self.ready and not self.terminating and self.failed is None


@dataclass(frozen=True, slots=True)
class FrozenRevision:
    """A revision as its ControllerRevision keeps it.

    Attributes:
        number: The attempt that made it; orders the history.
        hash_version: The version of the canonical form that its hash was taken over.
        template: The rendered pod template; every later Deployment of the revision is made from it.
        spec: The canonical user spec: model, engine and pod.
        startup_seconds: How long its engine may take to become ready.
    """

    number: int
    hash_version: int
    template: dict[str, Any]
    spec: dict[str, Any]
    startup_seconds: int


@dataclass(frozen=True, slots=True)
class RevisionSeen:
    """One revision's children.

    Attributes:
        revision: 8 hexadecimal digits.
        frozen: Its ControllerRevision; None if that is gone.
        desired_replicas: ``spec.replicas`` of its Deployment; None if it has none.
        pods: Its pods, terminating ones too, by name.
        refused: Why the API server refuses its pods, if it does.
    """

    revision: str
    frozen: FrozenRevision | None = None
    desired_replicas: int | None = None
    pods: tuple[Pod, ...] = ()
    refused: CreationRefusal | None = None


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What one router's agent says that it does.

    Attributes:
        epoch: Of the route that it has applied.
        sequence: Of the route that it has applied.
        weights: Effective ten-thousandths by revision (an arm without a Ready endpoint has 0).
        open: Requests under way by revision; None if the router cannot tell.
    """

    epoch: int
    sequence: int
    weights: dict[str, int]
    open: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class RouterPod:
    """One router pod; ``acknowledgement`` is None when its agent cannot be asked."""

    name: str
    ready: bool
    acknowledgement: Acknowledgement | None


@dataclass(frozen=True, slots=True)
class RouterSeen:
    """The router.

    Attributes:
        pods: Its pods.
        route: The route that its ConfigMap holds; None if there is no ConfigMap.
        unreadable: Whether there is a ConfigMap whose content cannot be understood.
        resource_version: That ConfigMap's; a new route is written over what cannot be understood.
    """

    pods: tuple[RouterPod, ...] = ()
    route: StoredRoute | None = None
    unreadable: bool = False
    resource_version: str | None = None

    @property
    def ready_pods(self) -> tuple[RouterPod, ...]:
        """The pods that get requests."""
        return tuple(pod for pod in self.pods if pod.ready)


@dataclass(frozen=True, slots=True)
class ForeignEdit:
    """An object of the router that somebody else has changed or deleted.

    Attributes:
        object: ``Kind/name``.
        by: The field manager that did it, if the object tells; an object that is gone does not.
    """

    object: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ProbeSeen:
    """One LoadProbe of this rollout.

    Attributes:
        name: Its name; what it was made for follows from it.
        uid: Its uid.
        phase: How far it is.
        finished_at: When it succeeded or failed.
        result: The gate stage's counts once it has succeeded; a reason if they cannot be used; None
            before that, and for a warm-up.
        message: What its condition Complete says, in our own words.
        deadline: When its Job is ended, done or not; None before it has one.
    """

    name: str
    uid: str
    phase: ProbePhase
    finished_at: datetime | None = None
    result: ArmEvidence | NoEvidence | None = None
    message: str = ""
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class BaselineSeen:
    """The baseline that the spec names.

    Attributes:
        name: The object's name.
        found: Whether it exists.
        uid: Its uid; empty if it doesn't.
        digest: ``sha256:...`` as it states; empty if it doesn't exist.
        problem: A reason of the ``BaselineValid`` condition if it cannot be compared with
            (``BaselineNotFound``, ``BaselineTampered``, ``BaselineMismatch``); None if it can.
        detail: Which check failed, in our own words.
        gate: The gate stage's counts, if it can be compared with.
    """

    name: str
    found: bool
    uid: str = ""
    digest: str = ""
    problem: str | None = None
    detail: str = ""
    gate: ArmEvidence | None = None


@dataclass(frozen=True, slots=True)
class WriteRefusal:
    """Why the API server did not let the last pass make a child.

    Attributes:
        reason: A reason of the API: ``QuotaExceeded``, ``AdmissionDenied``, ``Forbidden``.
        message: Which child, in our own words.
        remedy: What a person can do about it, as an order: ``remove what forbids it``.
    """

    reason: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Observation:
    """What a pass has seen.

    Attributes:
        rollout: Whose children these are.
        revisions: Every revision that has a child.
        router: The router.
        probes: The rollout's LoadProbes.
        baseline: The baseline that the attempt is held to (or, between attempts, that the spec
            names); None if none is named.
        evidence: The answer to :func:`chaffinch.domain.machine.evidence_needed`; None if nothing was asked.
        taken: ``Kind/name`` of children whose names belong to someone else.
        edited: What others have changed of the router's objects, and is not put back yet.
        problems: What could not be read, in our own words; a pass with one of these decides nothing.
        refusal: Why the last pass could not make a child, if so. It is tried again in each pass.
        commands: Commands for this rollout that have not been answered, the oldest first.
    """

    rollout: RolloutIdentity
    revisions: tuple[RevisionSeen, ...] = ()
    router: RouterSeen = RouterSeen()
    probes: tuple[ProbeSeen, ...] = ()
    baseline: BaselineSeen | None = None
    evidence: Evidence | NoEvidence | None = None
    taken: tuple[str, ...] = ()
    edited: tuple[ForeignEdit, ...] = ()
    problems: tuple[str, ...] = ()
    refusal: WriteRefusal | None = None
    commands: tuple[Command, ...] = ()

    def revision(self, revision: str | None) -> RevisionSeen:
        """Return what was seen of a revision: nothing, if it has no child."""
        for seen in self.revisions:
            if seen.revision == revision:
                return seen
        return RevisionSeen(revision or "")

    def probe(self, name: str) -> ProbeSeen | None:
        """Return a LoadProbe by name."""
        return next((probe for probe in self.probes if probe.name == name), None)

    @property
    def has_children(self) -> bool:
        """Whether anything of an earlier pass is left."""
        return bool(self.revisions) or self.router.route is not None or self.router.unreadable
