"""One pass over the model: the machine decides, and its writes follow one by one, as in the runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from chaffinch.domain.desired import Desired, desired
from chaffinch.domain.machine import Next, WriteOrder, step
from chaffinch.domain.observation import Observation
from chaffinch.domain.route import StoredRoute
from chaffinch.domain.router_edits import left_alone, route_object
from chaffinch.domain.verdict import Judgement
from scenarios.interleavings.loads import made
from scenarios.interleavings.model import TIMING, World
from scenarios.world import ROLLOUT


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass came to.

    Attributes:
        before: The world in which it ran.
        seen: What it saw of that.
        decided: What it decided.
        judgement: What the judge said.
        wanted: What should be.
    """

    before: World
    seen: Observation
    decided: Next
    judgement: Judgement | None
    wanted: Desired

    def writes(self) -> Iterator[Write]:
        """Yield what is written, in order; nothing that is there already is written again."""
        if not self.decided.act:
            yield _write_status
            return
        if self.decided.order is WriteOrder.ROUTE_FIRST:
            yield from (_write_route, _write_status)
        else:
            yield _write_status
        for each in self.wanted.workloads:
            yield _sized(each) if each["kind"] == "Deployment" else _load_begun(each)
        if self.decided.order is WriteOrder.STATUS_FIRST:
            yield _write_route
        yield from (_sized(each) for each in self.wanted.scale_downs)
        yield from (_load_deleted(each.name) for each in self.wanted.deletions if each.kind == "LoadProbe")


Write = Callable[[World, Pass], World]


def decide(world: World) -> Pass:
    """Decide what one pass does."""
    seen, judgement = world.observe(), world.judgement()
    decided = step(world.spec, world.state, seen, judgement, world.now, timing=TIMING)
    wanted = desired(world.spec, decided.state, seen, world.now, timing=TIMING)
    return Pass(world, seen, decided, judgement, wanted)


def _write_status(world: World, of: Pass) -> World:
    before, after = world.state, of.decided.state
    if replace(after, sequence=before.sequence) == before:
        return world
    passed = world.passed if after.attempts == before.attempts else frozenset()
    if after.candidate and after.candidate.step and after.candidate.step.passed_at:
        passed |= {after.candidate.step.index}
    return replace(world, state=after, passed=passed)


def _write_route(world: World, of: Pass) -> World:
    order = of.wanted.route
    alone = left_alone(of.seen, mends=of.decided.mends)
    if not order.changed or route_object(ROLLOUT) in alone:
        return world
    stored = StoredRoute(1, order.sequence, f"v{order.sequence}", order.intent)
    return replace(world, route=stored, ours=stored)


def _load_begun(manifest: dict[str, Any]) -> Write:
    probe = made(manifest)

    def begin(world: World, of: Pass) -> World:
        del of
        return replace(world, probes=(*world.probes, probe))

    return begin


def _load_deleted(name: str) -> Write:
    def delete(world: World, of: Pass) -> World:
        del of
        left = tuple(each for each in world.probes if each.name != name)
        return world if len(left) == len(world.probes) else replace(world, probes=left)

    return delete


def _sized(manifest: dict[str, Any]) -> Write:
    name, wanted = manifest["metadata"]["name"].rsplit("-", 1)[1], manifest["spec"]["replicas"]

    def resize(world: World, of: Pass) -> World:
        del of
        there = world.pods_of(name)
        if len(there) == wanted:
            return world
        return world.with_new_pods(name, there[:wanted], max(0, wanted - len(there)))

    return resize
