"""One pass over the model: the machine decides, and its writes follow one by one, as in the runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from chaffinch.domain.desired import Desired, desired
from chaffinch.domain.machine import Next, WriteOrder, step
from chaffinch.domain.route import StoredRoute
from chaffinch.domain.router_edits import left_alone, route_object
from chaffinch.domain.verdict import Judgement
from scenarios.interleavings.model import ROLLOUT, TIMING, ModelPod, World


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass came to.

    Attributes:
        before: The world that it saw.
        decided: What it decided.
        judgement: What the judge said.
        wanted: What should be.
    """

    before: World
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
        yield from (_sized(each) for each in self.wanted.workloads if each["kind"] == "Deployment")
        if self.decided.order is WriteOrder.STATUS_FIRST:
            yield _write_route
        yield from (_sized(each) for each in self.wanted.scale_downs)


Write = Callable[[World, Pass], World]


def decide(world: World) -> Pass:
    """Decide what one pass does."""
    seen, judgement = world.observe(), world.judgement()
    decided = step(world.spec, world.state, seen, judgement, world.now, timing=TIMING)
    wanted = desired(world.spec, decided.state, seen, world.now, timing=TIMING)
    return Pass(world, decided, judgement, wanted)


def _write_status(world: World, of: Pass) -> World:
    before, after = world.state, of.decided.state
    if replace(after, sequence=before.sequence) == before:
        return world
    passed, promoted = world.passed, world.promoted
    if after.attempts != before.attempts:
        passed, promoted = frozenset(), False
    if after.candidate and after.candidate.step and after.candidate.step.passed_at:
        passed |= {after.candidate.step.index}
    last, command = after.last_command, world.command
    if last is not None and command is not None and last.uid == command.uid:
        promoted |= last.action == "Promote" and last.outcome == "Accepted"
    return replace(world, state=after, passed=passed, promoted=promoted)


def _write_route(world: World, of: Pass) -> World:
    order = of.wanted.route
    alone = left_alone(of.before.observe(), mends=of.decided.mends)
    if not order.changed or route_object(ROLLOUT) in alone:
        return world
    stored = StoredRoute(1, order.sequence, f"v{order.sequence}", order.intent)
    return replace(world, route=stored, ours=stored)


def _sized(manifest: dict[str, Any]) -> Write:
    name, wanted = manifest["metadata"]["name"].rsplit("-", 1)[1], manifest["spec"]["replicas"]

    def resize(world: World, of: Pass) -> World:
        del of
        there = world.pods_of(name)
        new = (ModelPod(slot, world.seconds) for slot in range(len(there), wanted))
        return world if len(there) == wanted else world.with_pods(name, (*there[:wanted], *new))

    return resize
