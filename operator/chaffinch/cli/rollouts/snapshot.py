"""One rollout as it is now: its object and its pods, read once, and the questions that views ask of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from chaffinch.api.v1alpha1.common import GROUP, Condition, ConditionStatus
from chaffinch.api.v1alpha1.reasons import ConditionType
from chaffinch.api.v1alpha1.status import Phase, RolloutStatus
from chaffinch.cli.exits import CommandError
from chaffinch.cli.kubectl import Kubectl
from chaffinch.domain.manifests.common import ENGINE
from chaffinch.domain.names import COMPONENT_LABEL, REVISION_LABEL, ROLLOUT_LABEL

ROLLOUTS = f"inferencerollouts.{GROUP}"
FULL_PERCENT = 100


@dataclass(frozen=True, slots=True)
class PodFact:
    """One engine pod.

    Attributes:
        name: Its name.
        revision: Its revision.
        ready: Whether it is Ready.
        restarts: Restarts of its engine.
        warm: Whether it has been warmed up; None if that does not matter for its revision.
        trouble: Why its engine does not run, if it does not.
    """

    name: str
    revision: str
    ready: bool
    restarts: int
    warm: bool | None
    trouble: str | None


@dataclass(frozen=True, slots=True)
class Arm:
    """One revision with its share of the traffic.

    Attributes:
        revision: Its hash.
        role: ``stable``, ``candidate`` or ``leaving``.
        percent: Its share of the traffic.
        pods: Its pods, by name.
    """

    revision: str
    role: str
    percent: float
    pods: tuple[PodFact, ...]

    @property
    def ready(self) -> int:
        """How many of its pods are Ready."""
        return sum(pod.ready for pod in self.pods)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A rollout.

    Attributes:
        body: The object, as the API server has it.
        status: Its status.
        pods: Its engine pods.
    """

    body: Mapping[str, Any]
    status: RolloutStatus
    pods: tuple[PodFact, ...] = ()

    @property
    def name(self) -> str:
        """The rollout's name."""
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self.body["metadata"]["namespace"])

    @property
    def is_observed(self) -> bool:
        """Whether the status speaks of the generation that is applied."""
        return bool(self.status.observed_generation == self.body["metadata"].get("generation"))

    @property
    def shown(self) -> tuple[object, ...]:
        """Everything that people are shown: what has not changed if this has not."""
        return self.is_observed, self.status, self.pods

    @property
    def phase(self) -> str:
        """The phase; Progressing while nobody has looked at the generation that is applied."""
        return str(self.status.phase or Phase.PROGRESSING) if self.is_observed else str(Phase.PROGRESSING)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing goes on by itself: served as asked for, paused, or a person is needed."""
        return self.is_observed and self.status.phase not in {None, Phase.PROGRESSING}

    def condition(self, kind: ConditionType) -> Condition | None:
        """Return a condition."""
        return next((each for each in self.status.conditions if each.type == kind), None)

    @property
    def headline(self) -> Condition | None:
        """The condition that matters most: a person is needed, work is in progress, or how it is."""
        for kind in (ConditionType.STALLED, ConditionType.RECONCILING):
            found = self.condition(kind)
            if found is not None and found.status is ConditionStatus.TRUE:
                return found
        return self.condition(ConditionType.READY)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The revisions: stable, the candidate, and those whose pods are on their way out."""
        candidate, stable, traffic = self.status.candidate, self.status.stable, self.status.traffic
        weight = traffic.weight.desired / FULL_PERCENT if traffic and traffic.weight else 0.0
        arms = []
        if stable is not None:
            arms.append(self._arm(stable.revision, "stable", FULL_PERCENT - weight))
        if candidate is not None:
            arms.append(self._arm(candidate.revision, "candidate", weight))
        named = {arm.revision for arm in arms}
        leaving = sorted({pod.revision for pod in self.pods} - named)
        return (*arms, *(self._arm(revision, "leaving", 0.0) for revision in leaving))

    def _arm(self, revision: str, role: str, percent: float) -> Arm:
        return Arm(revision, role, percent, tuple(pod for pod in self.pods if pod.revision == revision))


def read(kubectl: Kubectl, name: str) -> Snapshot:
    """Read one rollout and its pods.

    Raises:
        CommandError: If one of them cannot be read.
    """
    body = kubectl.get(ROLLOUTS, name)
    pods = kubectl.find("pods", {ROLLOUT_LABEL: name, COMPONENT_LABEL: ENGINE})
    return snapshot_of(body, pods)


def snapshot_of(body: Mapping[str, Any], pods: Sequence[Mapping[str, Any]] = ()) -> Snapshot:
    """Return a rollout from its objects.

    Raises:
        CommandError: If its status cannot be understood: it was written by another version.
    """
    try:
        status = RolloutStatus.model_validate(body.get("status") or {})
    except ValidationError:
        name = body["metadata"]["name"]
        raise CommandError(
            f"the status of {name} cannot be read: is this tool older than the operator?"
        ) from None
    warm = {pod.name for pod in status.candidate.warm} if status.candidate else set()
    tried = status.candidate.revision if status.candidate else None
    facts = sorted((_pod(pod, tried, warm) for pod in pods), key=lambda fact: fact.name)
    return Snapshot(body, status, tuple(facts))


def _pod(pod: Mapping[str, Any], tried: str | None, warm: set[str]) -> PodFact:
    metadata, status = pod["metadata"], pod.get("status") or {}
    revision = str(metadata.get("labels", {}).get(REVISION_LABEL, ""))
    engine = _named(status.get("containerStatuses", ()), "name", ENGINE)
    return PodFact(
        name=str(metadata["name"]),
        revision=revision,
        ready=_named(status.get("conditions", ()), "type", "Ready").get("status") == "True",
        restarts=int(engine.get("restartCount", 0)),
        warm=metadata["name"] in warm if revision == tried else None,
        trouble=_trouble(metadata, status, engine),
    )


def _trouble(metadata: Mapping[str, Any], status: Mapping[str, Any], engine: Mapping[str, Any]) -> str | None:
    if metadata.get("deletionTimestamp"):
        return "terminating"
    waiting = (engine.get("state") or {}).get("waiting")
    if waiting:
        return str(waiting.get("reason") or "waiting")
    if status.get("phase") == "Failed":
        return str(status.get("reason") or "failed")
    scheduled = _named(status.get("conditions", ()), "type", "PodScheduled")
    return str(scheduled["reason"]) if scheduled.get("status") == "False" else None


def _named(items: Sequence[Mapping[str, Any]], key: str, value: str) -> Mapping[str, Any]:
    """Return the item of a list whose key has a value; an empty one if there is none."""
    return next((item for item in items if item.get(key) == value), {})
