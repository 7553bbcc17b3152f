"""Runs passes of the pure core against the world, in the order of writes that the core asks for.

It is what the runtime is in the product, without its I/O. It remembers nothing between two passes but the
stored status, so every pass is the first one after a crash. A crash can be ordered before any one write.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from chaffinch.api.v1alpha1.command import CommandAction
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.status import RolloutStatus
from chaffinch.domain.commands import Command
from chaffinch.domain.conditions.view import View
from chaffinch.domain.desired import Desired, desired
from chaffinch.domain.events import Event, events_of
from chaffinch.domain.machine import Next, WriteOrder, assess, evidence_needed, step
from chaffinch.domain.observation import Observation
from chaffinch.domain.revision import revision_of
from chaffinch.domain.rollout_status import status_of
from chaffinch.domain.router_edits import left_alone
from chaffinch.domain.state import RolloutState
from chaffinch.domain.status_codec import state_of
from chaffinch.domain.status_update import is_due
from chaffinch.domain.verdict import Judgement
from scenarios.oracle import Oracle
from scenarios.world import ROUTE, START, World


class Crash(Exception):  # noqa: N818 - it is what happens, not an error of anyone's
    """The operator's process ends before a write."""


@dataclass
class Operator:
    """The operator, one rollout, and the oracle that watches every write."""

    world: World
    spec: InferenceRolloutSpec
    generation: int = 1
    status: RolloutStatus | None = None
    events: list[Event] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    crash_before: int | None = None
    oracle: Oracle = field(init=False)
    _next: datetime = START
    _known: object = None

    def __post_init__(self) -> None:
        self.oracle = Oracle(self.world)

    @property
    def writes(self) -> int:
        """How many writes there have been."""
        return len(self.log)

    @property
    def state(self) -> RolloutState:
        """What the stored status remembers."""
        return state_of(self.status)

    def edit(self, spec: InferenceRolloutSpec) -> None:
        """Let the user apply another spec."""
        self.spec = spec
        self.generation += 1

    def command(self, action: str, revision: str | None = None, step: str | None = None) -> Command:
        """Let a person give a command for a revision, by default that of the spec."""
        number = len(self.world.commands) + 1
        given = Command(
            name=f"chat-{number}",
            uid=f"uid-of-command-{number}",
            action=CommandAction(action),
            revision=revision or revision_of(self.spec),
            created=self.world.now,
            step=step,
            by="ann",
        )
        self.world.commands.append(given)
        return given

    def answer_to(self, command: Command) -> str:
        """Return a command's answer."""
        answer = self.world.answers.get(command.uid)
        return f"{answer.outcome}/{answer.reason}" if answer is not None else "none"

    def run(self, seconds: float, *, until: Callable[[Operator], bool] | None = None) -> Operator:
        """Let time pass until something is so; fails if it never is.

        There is a pass when the last one asked for it, and when anything that is watched has changed.
        """
        end = self.world.now + timedelta(seconds=seconds)
        while self.world.now < end:
            watched = (self.world.observe(), self.generation, self.world.foreign_writes)
            if self.world.now >= self._next or watched != self._known:
                self._known = watched
                self.pass_once()
            if until is not None and until(self):
                return self
            self.world.pass_time(1)
        assert until is None, f"never came true; {self.story()}"
        return self

    def pass_once(self) -> None:
        """Run one pass; a crash in it is survived by the next one."""
        try:
            self._pass()
        except Crash:
            self.crash_before = None
            self._next = self.world.now

    def _pass(self) -> None:
        world, state, now = self.world, self.state, self.world.now
        seen = world.observe()
        question = evidence_needed(state, now)
        if question is not None:
            seen = replace(seen, evidence=world.answer(question))
        judgement = assess(state, seen, now)
        decided = step(self.spec, state, seen, judgement, now)
        self._next = now + timedelta(seconds=decided.requeue_after)
        self.oracle.decided(state, decided, judgement, seen)
        self._write(seen, decided, judgement)
        self.events += events_of(state, decided.state)

    def _write(self, seen: Observation, decided: Next, judgement: Judgement | None) -> None:
        kept = left_alone(seen, mends=decided.mends)
        acts = decided.act and ROUTE not in kept
        view = View(self.spec, decided.state, seen, judgement, self.world.now, acts=acts)
        status = status_of(view, self.generation, self.status)
        wanted = desired(self.spec, decided.state, seen, self.world.now)
        if decided.order is WriteOrder.ROUTE_FIRST and decided.act:
            self._write_route(wanted, kept)
        if is_due(self.status, status, None, self.world.now):
            self._before_write("status")
            self.status = RolloutStatus.model_validate(status.to_dict())
            self.oracle.status_written(self.status, self.generation)
            assert self._is_remembered(decided.state), "a state did not survive the status"
        self._answer(seen, decided)
        if decided.act:
            self._act(wanted, decided, kept)

    def _answer(self, seen: Observation, decided: Next) -> None:
        answer = decided.state.last_command
        for command in seen.commands:
            if answer is not None and answer.uid == command.uid:
                self._before_write(f"RolloutCommand/{command.name}")
                self.world.answer_command(answer)

    def _is_remembered(self, state: RolloutState) -> bool:
        if state.candidate is None:
            state = replace(state, hold=None)  # seen anew on every pass
        return replace(self.state, sequence=state.sequence) == state

    def _act(self, wanted: Desired, decided: Next, kept: Set[str]) -> None:
        for name in [name for name in self.world.edited if name != ROUTE and name not in kept]:
            self._before_write(name)
            self.world.put_object_back(name)
        for manifest in (*wanted.foundations, *wanted.workloads):
            self._apply(manifest)
        if decided.order is WriteOrder.STATUS_FIRST:
            self._write_route(wanted, kept)
        for manifest in wanted.scale_downs:
            self._apply(manifest)
        for reference in wanted.deletions:
            self.world.delete(reference.kind, reference.name)

    def _write_route(self, wanted: Desired, kept: Set[str]) -> None:
        if not wanted.route.changed or ROUTE in kept:
            return
        self._before_write("route")
        self.oracle.route_written(wanted.route.intent, self.state)
        self.world.write_route(wanted.route, epoch=1)

    def _apply(self, manifest: dict[str, Any]) -> None:
        if self._is_there(manifest):
            return
        self._before_write(f"{manifest['kind']}/{manifest['metadata']['name']}")
        self.oracle.applied(manifest, self.spec)
        self.world.apply(manifest)

    def _is_there(self, manifest: dict[str, Any]) -> bool:
        """Say whether the object is as it should be: then nothing is sent."""
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        if kind == "Deployment":
            wanted: int = manifest["spec"]["replicas"]
            return self.world.replicas.get(name.rsplit("-", 1)[1]) == wanted
        return self.world.made[f"{kind}/{name}"] > 0

    def _before_write(self, what: str) -> None:
        self.log.append(what)
        if self.crash_before == self.writes:
            raise Crash

    def story(self) -> str:
        """Return what happened, for the message of a failing test."""
        told = [f"{event.action}: {event.message}" for event in self.events]
        return f"{self.state}\n" + "\n".join(told)

    def condition(self, kind: str) -> tuple[str, str]:
        """Return a condition's status and reason."""
        assert self.status is not None
        found = next(each for each in self.status.conditions if each.type == kind)
        return found.status.value, found.reason

    def message(self, kind: str) -> str:
        """Return a condition's message."""
        assert self.status is not None
        return next(each.message for each in self.status.conditions if each.type == kind)
