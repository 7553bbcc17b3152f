"""A rollout whose second version gets into trouble: what is applied, waited for, and read afterwards.

Several of them go on side by side, each in a thread, so waiting asks the API server itself: a kubectl for
each look would take the machine from the pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.manifests.common import ENGINE
from chaffinch.domain.names import COMPONENT_LABEL, REVISION_LABEL, ROLLOUT_LABEL
from chaffinch.domain.revision import revision_of
from localcluster.api import ApiClient
from localcluster.kubectl import eventually
from oracle import Write
from oracle.invariants import World
from stage.install import OPERATOR_USER
from stage.kubectl import Object, has_condition
from stage.service import ENGINE_FLAGS, WARM_UP, Service

MEMORY = {"memory": "256Mi"}
"""The limit that all engine pods have."""
# Wide limits: nothing here is to be told by the evidence.
OBJECTIVES = (
    {"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "10s"},
    {"name": "errors", "metric": "errorRate", "max": "3%"},
)
_GROUP = "/apis/chaffinch.dev/v1alpha1"
_POLL_SECONDS = 0.5
_LONGEST_SECONDS = 150


@dataclass(frozen=True, slots=True)
class Fault:
    """What befalls the second version of a rollout.

    Attributes:
        name: The rollout's name.
        reason: What has to be told.
        deadline: Seconds in which its pods have to be there, ready and warm.
        replicas: How many there are of each version.
        limits: What pods of both versions are given beside memory.
        flags: Further flags of the second version.
        image: Its image, if that is another one.
        pod: What its pods ask for instead.
        warm_up: What its pods have to get through to be warm.
        weight: The traffic in 1/10,000 that it has before the fault.
        first_step: The traffic in percent that its first step asks for. One canary pod carries 20 beside up
            to four of stable; the usual ladder begins with one pod, too.
        least_ready: How many Ready pods stable has at the least, if the fault befalls them, too.
    """

    name: str
    reason: str
    deadline: int
    replicas: int = 1
    limits: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    image: str | None = None
    pod: Mapping[str, Any] = field(default_factory=dict)
    warm_up: Mapping[str, Any] = field(default_factory=lambda: WARM_UP)
    weight: int = 0
    first_step: int = 20
    least_ready: int | None = None

    @property
    def long_canary(self) -> Mapping[str, Any]:
        """Its first step with traffic, which goes on for longer than any fault takes."""
        return {"name": "canary", "canary": {"weight": self.first_step, "for": "1h"}}

    def service(self, namespace: str) -> Service:
        """Return the service that its users call."""
        steps = (WARM_UP, self.long_canary)
        return Service(namespace, self.name, replicas=self.replicas, objectives=OBJECTIVES, steps=steps)

    def first(self, namespace: str) -> dict[str, Any]:
        """Return the version that serves."""
        document = self.service(namespace).manifest()
        document["spec"]["pod"] = {"resources": {"limits": {**MEMORY, **self.limits}}}
        return document

    def second(self, namespace: str) -> dict[str, Any]:
        """Return the version that the fault befalls."""
        document = self.first(namespace)
        spec = document["spec"]
        spec["engine"] |= {"extraArgs": [*ENGINE_FLAGS, "--sim-seed=2", *self.flags]}
        spec["engine"] |= {"image": self.image} if self.image else {}
        spec["pod"] |= self.pod
        spec["strategy"] = {
            "progressDeadline": f"{self.deadline}s",
            "steps": [self.warm_up, self.long_canary],
        }
        return document


@dataclass(slots=True)
class Troubled:
    """The rollout of a fault.

    Attributes:
        fault: The fault.
        namespace: Where the rollout is.
        api: The API server, as the administrator.
        began: When the time began in which the fault has to be told.
        told_after: How many seconds it took from then on.
    """

    fault: Fault
    namespace: str
    api: ApiClient
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    told_after: float = 0.0

    @property
    def stable(self) -> str:
        """The revision of the first version."""
        return revision_of(parse_rollout(self.fault.first(self.namespace)))

    @property
    def canary(self) -> str:
        """The revision of the second version."""
        return revision_of(parse_rollout(self.fault.second(self.namespace)))

    def apply(self, manifest: dict[str, Any]) -> None:
        """Apply a version."""
        self.api.apply(self._place(), manifest)

    def when_rolled_out(self) -> None:
        """Apply the second version; its time begins."""
        self.began = datetime.now(UTC)
        self.apply(self.fault.second(self.namespace))

    def until(self, holds: Callable[[Object], bool], what: str, seconds: float = _LONGEST_SECONDS) -> Object:
        """Wait until something is so of the rollout; return it."""

        def look() -> Object | None:
            with suppress(OSError):  # a busy machine may keep the administrator waiting
                return self.api.get(self._place())
            return None

        return eventually(
            look, seconds, f"{self.fault.name}: {what}", _POLL_SECONDS, holds=holds, show=_status
        )

    def until_told(self) -> Object:
        """Wait until the second version is rolled back; note how long it took until that was decided."""
        found = self.until(
            lambda found: found["status"].get("lastAttempt", {}).get("attempt") == 2, "it is rolled back"
        )
        decided = datetime.fromisoformat(found["status"]["lastAttempt"]["decidedAt"])
        self.told_after = (decided - self.began).total_seconds()
        return found

    def until_reverted(self) -> None:
        """Apply the first version again and wait until nothing is left to do."""
        self.apply(self.fault.first(self.namespace))
        self.until(lambda found: has_condition(found, "Ready", "True"), "it is Ready with its first version")

    def pods(self, revision: str) -> list[dict[str, Any]]:
        """Return the engine pods of a revision, whatever became of them."""
        labels = f"{ROLLOUT_LABEL}={self.fault.name},{REVISION_LABEL}={revision}"
        selector = f"labelSelector=app.kubernetes.io/component=engine,{labels}"
        found = self.api.get(f"/api/v1/namespaces/{self.namespace}/pods?{selector}")
        return list(found["items"]) if found else []

    def first_pod(self, revision: str) -> dict[str, Any]:
        """Wait for the first pod of a revision and return it."""
        return eventually(lambda: self.pods(revision), 30, f"{self.fault.name} has a canary pod")[0]

    def size(self, revision: str) -> int:
        """Return the size of a revision's Deployment."""
        name = revision_name(self.fault.name, revision)
        found = self.api.get(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{name}")
        assert found is not None
        return int(found["spec"]["replicas"])

    def _place(self) -> str:
        return f"{_GROUP}/namespaces/{self.namespace}/inferencerollouts/{self.fault.name}"


@dataclass(frozen=True, slots=True)
class Past:
    """What became of a rollout's pods and traffic from a moment on, as the audit log tells.

    Attributes:
        least_ready: The fewest Ready pods that whatever revision was stable had.
        most_weight: The highest weight that the canary had, in 1/10,000.
        made: How many engine pods were made, by revision.
    """

    least_ready: int
    most_weight: int
    made: Mapping[str, int]


def past_of(rollout: Troubled, writes: Sequence[Write]) -> Past:
    """Return what the writes of a namespace tell of a rollout since its second version was applied.

    Args:
        rollout: The rollout.
        writes: The accepted writes of its namespace, oldest first.
    """
    world = World(rollout.fault.name, OPERATOR_USER)
    ready, weights, made = [], [0], Counter[str]()
    for write in writes:
        world.replay(write)
        if write.at < rollout.began:
            continue
        ready.append(len(world.ready_endpoints(world.route["stable"])))
        weights.append(world.weight(rollout.canary))
        labels = write.stored.get("metadata", {}).get("labels", {})
        ours = (labels.get(ROLLOUT_LABEL), labels.get(COMPONENT_LABEL)) == (rollout.fault.name, ENGINE)
        if ours and (write.verb, write.resource) == ("create", "pods"):
            made[labels[REVISION_LABEL]] += 1
    return Past(min(ready), max(weights), made)


def _status(rollout: Object | None) -> str:
    return repr(rollout and rollout.get("status"))
