"""What nodes, quotas and policies do to a canary's pods: told by its reason, and stable loses nothing.

Quota, admission and scheduling are Kubernetes' own here; what a kubelet finds is written by the test (see
:mod:`crash.kubelet`). All faults happen side by side, each to the second version of a rollout of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from chaffinch.api.v1alpha1.names import record_name, revision_name, router_name
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.names import REVISION_LABEL, ROLLOUT_LABEL
from chaffinch.domain.revision import revision_of
from chaffinch.routing.route import ROUTE_KEY, parse_route
from crash import kubelet
from crash.crowd import Place, apply, is_ready, says, status_of, until_all
from crash.kubelet import Behaviour, Kubelet, ended, failed, running, waiting
from crash.obstacles import leave_no_room, refused
from crash.playground import GROUP, Object, Playground, path_of
from crash.rollouts import OBJECTIVES
from crash.standstills import NOWHERE
from localcluster.kubectl import eventually
from stage.service import Service

CANARY = {"name": "canary-50", "canary": {"weight": 50, "for": "1h"}}
CYCLE_SECONDS = 3.0
MOST_PODS = 20
LATE_SECONDS = 10.0
"""How long after its deadline a fault has to be told at the latest."""


def runs_out_of_memory(age: float, _: int) -> kubelet.Status:
    """Be killed once a second."""
    return waiting("CrashLoopBackOff", int(age), ended(137, "OOMKilled"))


def comes_and_goes(age: float, number: int) -> kubelet.Status:
    """Be Ready two seconds of three, out of step with the others, and die each time (case C31)."""
    now = time.monotonic() + number
    rounds, within = divmod(now, CYCLE_SECONDS)
    rounds -= (now - age) // CYCLE_SECONDS
    last = ended(3, "Error") if rounds else None
    return running(int(rounds), last) if within < 2 else waiting("CrashLoopBackOff", int(rounds) + 1, last)


@dataclass(frozen=True, slots=True)
class Fault:
    """What befalls the second version of a rollout.

    Attributes:
        name: The rollout's name.
        reason: What has to be told.
        behaves: What its pods do, if they come to a node at all.
        where: What says to which nodes they go, if that is not the usual.
        deadline: Seconds in which they have to be there.
        replicas: How many there are of each version.
        stuck: Whether they do not go when they are deleted.
    """

    name: str
    reason: str
    behaves: Behaviour | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    deadline: int = 10
    replicas: int = 1
    stuck: bool = False

    def version(self, number: int, namespace: str) -> dict[str, Any]:
        """Return a version of the rollout, from 1."""
        document = Service(
            namespace,
            self.name,
            replicas=self.replicas,
            flags=(f"--seed={number}",),
            steps=(CANARY,),
            objectives=OBJECTIVES,
            image="localhost/engine:1",
            progress_deadline=f"{self.deadline}s",
        ).manifest()
        if number > 1:
            document["spec"]["pod"] |= kubelet.HERE if self.behaves else self.where
        return document

    def revision(self, number: int) -> str:
        """Return the revision of a version."""
        return revision_of(parse_rollout(self.version(number, "any")))


QUOTA = Fault("quota", "QuotaExceeded")
ADMISSION = Fault("admission", "AdmissionDenied")
CRASH_LOOP = Fault("crash-loop", "CrashLoop", comes_and_goes, deadline=60, replicas=4)
TURNED_AWAY = Fault("turned-away", "Unschedulable", lambda _age, _number: failed("UnexpectedAdmissionError"))
FAULTS = (
    Fault("nowhere", "Unschedulable", where={"nodeSelector": NOWHERE}),
    QUOTA,
    ADMISSION,
    Fault("image", "ImagePull", lambda _age, _number: waiting("ImagePullBackOff")),
    Fault("memory", "OutOfMemory", runs_out_of_memory, deadline=60),
    CRASH_LOOP,
    Fault("evicted", "Unschedulable", lambda _age, _number: failed("Evicted")),
    TURNED_AWAY,
    Fault("stuck", "CrashLoop", lambda _age, _number: waiting("Error", 3, ended(1, "Error")), stuck=True),
)


def test_a_canary_that_cannot_run_says_why_gets_no_traffic_and_leaves_stable_alone(
    playground: Playground,
) -> None:
    with ExitStack() as stack:
        common, scarce = (stack.enter_context(playground.namespace()) for _ in range(2))
        there = {(scarce if fault is QUOTA else common, fault.name): fault for fault in FAULTS}
        proxy = stack.enter_context(playground.proxy())
        settings = {
            "CHAFFINCH_WATCH_NAMESPACES": f"{common},{scarce}",
            "CHAFFINCH_LEASE_NAME": "faults",
            "CHAFFINCH_ACTIVE_INTERVAL": "1",
        }
        operator = stack.enter_context(playground.operator(proxy, "faults", **settings))
        operator.start()
        node = Kubelet(
            playground.api,
            {fault.name: fault.behaves for fault in FAULTS if fault.behaves},
            frozenset(fault.name for fault in FAULTS if fault.stuck),
        )
        stack.enter_context(node.at_work())
        apply_all(playground, there, 1)
        until_all(playground, dict.fromkeys(there, is_ready), "the first versions serve")
        stable = {at: pods_of(playground, at, fault.revision(1)) for at, fault in there.items()}
        leave_no_room(playground, scarce)
        stack.enter_context(refused(playground, common, ADMISSION.revision(2)))

        told = roll_out(playground, there, node)
        assert {name: reason for name, (reason, _) in told.items()} == {f.name: f.reason for f in FAULTS}
        late = {f.name: told[f.name][1] for f in FAULTS if told[f.name][1] > f.deadline + LATE_SECONDS}
        assert late == {}
        until_at_rest(playground, there, node)
        for at, fault in there.items():
            then_stable_is_as_before(playground, at, fault, stable[at])
            then_no_step_was_entered(playground, at, fault)
        assert len(node.made[TURNED_AWAY.name]) <= MOST_PODS
        assert "ERROR" not in operator.log.read_text()


def apply_all(playground: Playground, there: Mapping[Place, Fault], number: int) -> None:
    """Apply a version of each rollout."""
    for (namespace, _), fault in there.items():
        apply(playground, fault.version(number, namespace))


def roll_out(
    playground: Playground, there: Mapping[Place, Fault], node: Kubelet
) -> dict[str, tuple[str, float]]:
    """Apply the second versions; return why each was rolled back, and after how many seconds.

    No canary may get any traffic meanwhile.
    """
    began = time.monotonic()
    apply_all(playground, there, 2)
    told: dict[str, tuple[str, float]] = {}

    def is_told(rollout: Object) -> bool:
        last = status_of(rollout).get("lastAttempt", {})
        if last.get("attempt") != 2:
            return False
        cause = says(rollout, "Promoted")[1]
        told.setdefault(rollout["metadata"]["name"], (cause, time.monotonic() - began))
        return True

    def look() -> None:
        node.look()
        then_no_canary_has_traffic(playground, there)

    until_all(playground, dict.fromkeys(there, is_told), "every fault is told", meanwhile=look)
    print("; ".join(f"{name}: {reason} after {at:.1f} s" for name, (reason, at) in sorted(told.items())))
    return told


def then_no_canary_has_traffic(playground: Playground, there: Mapping[Place, Fault]) -> None:
    """No route that is stored gives a canary anything."""
    for namespace, name in there:
        place = f"/api/v1/namespaces/{namespace}/configmaps/{router_name(name)}"
        stored = playground.api.get(place)
        assert stored is not None
        arms = parse_route(stored["data"][ROUTE_KEY]).arms
        weights = {arm.revision: arm.weight for arm in arms}
        assert weights.get(there[namespace, name].revision(2), 0) == 0


def until_at_rest(playground: Playground, there: Mapping[Place, Fault], node: Kubelet) -> None:
    """Wait until the canaries have no pods any more, but for those that do not go."""

    def left() -> dict[Place, object]:
        node.look()
        sizes = {at: replicas_of(playground, at, fault.revision(2)) for at, fault in there.items()}
        pods = {
            at: pods_of(playground, at, fault.revision(2)) for at, fault in there.items() if not fault.stuck
        }
        return {at: (sizes[at], pods.get(at)) for at in there if sizes[at] or pods.get(at)}

    eventually(left, 30, "the canaries are gone", 0.5, holds=lambda found: not found)


def replicas_of(playground: Playground, at: Place, revision: str) -> int:
    """Return the size of a revision's Deployment."""
    place = f"/apis/apps/v1/namespaces/{at[0]}/deployments/{revision_name(at[1], revision)}"
    found = playground.api.get(place)
    assert found is not None
    return int(found["spec"]["replicas"])


def pods_of(playground: Playground, at: Place, revision: str) -> set[str]:
    """Return the uids of a revision's pods, but of those that have ended for good."""
    labels = f"{ROLLOUT_LABEL}={at[1]},{REVISION_LABEL}={revision}"
    found = playground.api.get(f"/api/v1/namespaces/{at[0]}/pods?labelSelector={labels}") or {"items": []}
    return {pod["metadata"]["uid"] for pod in found["items"] if pod["status"]["phase"] != "Failed"}


def then_stable_is_as_before(playground: Playground, at: Place, fault: Fault, pods: set[str]) -> None:
    """It has the same pods, and serves with all of them."""
    assert len(pods) == fault.replicas
    assert pods_of(playground, at, fault.revision(1)) == pods
    rollout = playground.api.get(path_of(*at))
    assert rollout is not None
    assert says(rollout, "Available") == ("True", "StableServing")


def then_no_step_was_entered(playground: Playground, at: Place, fault: Fault) -> None:
    """The record of the attempt tells of no step: the canary never came to have weight."""
    name = record_name(at[1], fault.revision(2), attempt=2)
    record = playground.api.get(f"{GROUP}/namespaces/{at[0]}/rolloutrecords/{name}")
    assert record is not None
    assert record["status"].get("steps", []) == []
    assert record["status"]["cause"] == fault.reason
