"""The invariants I1 to I3 over a replay of the writes of one rollout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oracle.audit import Write

REVISION_LABEL = "chaffinch.dev/revision"
FULL_WEIGHT = 10_000


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that a write broke."""

    invariant: str
    write: Write
    message: str

    def __str__(self) -> str:
        """Name the invariant, the time and the object."""
        return (
            f"{self.invariant} at {self.write.at:%H:%M:%S.%f}: {self.message} "
            f"({self.write.verb} {self.write.resource} {self.write.name})"
        )


@dataclass(slots=True)
class World:
    """What the namespace looked like after the writes so far."""

    rollout: str
    operator: str
    ready: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)
    replicas: dict[str, int] = field(default_factory=dict)
    route: Mapping[str, Any] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    status: Mapping[str, Any] = field(default_factory=dict)

    def ready_endpoints(self, revision: str) -> frozenset[str]:
        """Return the names of the Ready pods behind a revision's Service."""
        slices = self.ready.get(f"{self.rollout}-{revision}", {})
        return frozenset().union(*slices.values())

    def weight(self, revision: str | None) -> int:
        """Return a revision's weight in 1/10,000 as the route has it now."""
        return weights_of(self.route).get(revision or "", 0)

    def replay(self, write: Write) -> None:
        """Take one write into account."""
        if write.resource == "endpointslices":
            self._replay_slice(write)
        elif write.resource == "deployments" and write.stored:
            self.replicas[write.name] = write.stored["spec"].get("replicas", 1)
        elif write.resource == "configmaps" and write.name == f"{self.rollout}-router" and write.stored:
            self.route = route_of(write)
        elif write.resource.startswith("inferencerollouts") and write.name == self.rollout and write.stored:
            self.spec = write.stored.get("spec", {})
            self.status = write.stored.get("status", {})

    def _replay_slice(self, write: Write) -> None:
        if not write.stored:
            for slices in self.ready.values():
                slices.pop(write.name, None)
            return
        service = write.stored["metadata"].get("labels", {}).get("kubernetes.io/service-name", "")
        self.ready.setdefault(service, {})[write.name] = frozenset(
            endpoint["targetRef"]["name"]
            for endpoint in write.stored.get("endpoints") or ()
            if endpoint.get("conditions", {}).get("ready") and "targetRef" in endpoint
        )


def check(writes: Sequence[Write], *, rollout: str, operator: str) -> list[Violation]:
    """Return every broken invariant of a rollout.

    Args:
        writes: The accepted writes of its namespace, oldest first.
        rollout: The rollout's name.
        operator: The operator's user name; only its writes are judged.
    """
    world = World(rollout=rollout, operator=operator)
    violations: list[Violation] = []
    for write in writes:
        if write.user == operator:
            violations.extend(_judge(world, write))
        world.replay(write)
    return violations


def wrote(writes: Sequence[Write], rollout: str, operator: str) -> set[str]:
    """Return what the operator wrote of a rollout: ``route``, ``status``, both or neither.

    A history without them breaks no invariant, so :func:`check` says nothing about it.
    """
    places = {
        ("configmaps", f"{rollout}-router"): "route",
        ("inferencerollouts/status", rollout): "status",
    }
    return {
        places[write.resource, write.name]
        for write in writes
        if write.user == operator and write.stored and (write.resource, write.name) in places
    }


def route_of(write: Write) -> Mapping[str, Any]:
    """Return the route that a write of the router's ConfigMap holds."""
    route: Mapping[str, Any] = json.loads(write.stored["data"]["route.json"])
    return route


def weights_of(route: Mapping[str, Any]) -> dict[str, int]:
    """Return the weight of each revision in 1/10,000."""
    return {arm["revision"]: arm["weight"] for arm in route.get("arms", ())}


def _judge(world: World, write: Write) -> Iterator[Violation]:
    if write.resource == "configmaps" and write.name == f"{world.rollout}-router" and write.stored:
        yield from _black_holes(world, write)
        yield from _unearned_weight(world, write)
    elif write.resource == "deployments":
        yield from _stable_capacity(world, write)
    elif write.resource == "inferencerollouts/status" and write.name == world.rollout:
        yield from _unearned_steps(world, write)


def _black_holes(world: World, write: Write) -> Iterator[Violation]:
    for revision, weight in weights_of(route_of(write)).items():
        # Weight that was there already is the agent's to drop; this write must not add to a hole.
        if weight > world.weight(revision) and not world.ready_endpoints(revision):
            yield Violation("I1", write, f"{revision} gets weight {weight} without a Ready endpoint")


def _stable_capacity(world: World, write: Write) -> Iterator[Violation]:
    stable = world.route.get("stable")
    if write.name != f"{world.rollout}-{stable}" or world.weight(stable) == 0:
        return
    wanted = world.spec.get("replicas", 0)
    if stable and any(storm["revision"] == stable for storm in world.status.get("podStorms", ())):
        # Nodes turn its pods away, and no more are asked for: those that are Ready have to stay.
        wanted = min(wanted, len(world.ready_endpoints(stable)))
    has = write.stored["spec"].get("replicas", 1) if write.stored else 0
    if has < wanted:
        yield Violation("I2", write, f"stable {stable} goes to {has} of {wanted} replicas with weight")


def _unearned_weight(world: World, write: Write) -> Iterator[Violation]:
    route = route_of(write)
    stable = route.get("stable")
    for revision, weight in weights_of(route).items():
        if revision == stable or stable is None or weight <= world.weight(revision):
            continue
        allowed = _weight_of_step(world)
        if weight > allowed:
            yield Violation("I3", write, f"canary {revision} rises to {weight}, its step allows {allowed}")


def _weight_of_step(world: World) -> int:
    """Return the weight that the recorded step allows, from the rollout's own status and spec."""
    rollout = world.status.get("rollout") or {}
    if _is_promoted(rollout):
        return FULL_WEIGHT
    step, weight = rollout.get("step") or {}, 0
    for declared in world.spec.get("strategy", {}).get("steps", ()):
        # A step that waits for approval keeps the weight of the canary steps before it.
        if "approval" not in declared:
            weight = declared.get("canary", {}).get("weight", 0) * FULL_WEIGHT // 100
        if declared["name"] == step.get("name"):
            return FULL_WEIGHT if "bake" in declared else weight
    return 0


def _unearned_steps(world: World, write: Write) -> Iterator[Violation]:
    before = world.status.get("rollout") or {}
    after = (write.stored.get("status") or {}).get("rollout") or {}
    left, entered = before.get("step"), after.get("step")
    if not left or before.get("id") != after.get("id"):
        return
    if entered and entered["index"] > left["index"] + 1:
        yield Violation("I3", write, f"step {left['index']} is followed by step {entered['index']}")
    goes_on = entered is not None and entered["index"] > left["index"]
    promoted = _is_promoted(after) and not _is_commanded(write)
    if (goes_on or promoted) and "passedAt" not in left:
        yield Violation("I3", write, f"step {left['name']} was left without a recorded Pass")


def _is_commanded(write: Write) -> bool:
    """Say whether a person has had the candidate promoted, whatever its steps have shown."""
    status = write.stored.get("status") or {}
    command, candidate = status.get("lastCommand") or {}, status.get("candidate") or {}
    told = (command.get("action"), command.get("outcome"), command.get("revision"))
    return told == ("Promote", "Accepted", candidate.get("revision"))


def _is_promoted(rollout: Mapping[str, Any]) -> bool:
    return (rollout.get("decision") or {}).get("kind") == "Promote"
