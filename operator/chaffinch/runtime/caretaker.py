"""Looks after one object of any kind: picks the pass, and tells metrics and health about each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from chaffinch.ports.clock import Clock
from chaffinch.runtime.command_pass import CommandPass
from chaffinch.runtime.health import Health
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.loop import Outcome, Pace, Watch, look_after
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.probe_pass import ProbePass
from chaffinch.runtime.rollout_pass import RolloutPass, World
from chaffinch.runtime.tracing import PassTrace, Tracer
from chaffinch.runtime.wake import Wake


class _Pass(Protocol):
    """Does the passes of objects of one kind."""

    async def run(self, subject: Subject) -> Outcome:
        """Do one pass."""
        ...


class _PassWatch(Watch):
    """Counts, times and traces the passes of one object."""

    def __init__(
        self, subject: Subject, clock: Clock, health: Health, metrics: Metrics, tracer: Tracer
    ) -> None:
        self._subject = subject
        self._trace = PassTrace(tracer, subject)
        self._clock = clock
        self._health = health
        self._metrics = metrics
        self._began = 0.0

    def began(self) -> None:
        """Note the start."""
        self._began = self._clock.monotonic()
        self._health.pass_began(self._subject)
        self._trace.began()

    def ended(self, *, failed: bool) -> None:
        """Note the end."""
        self._trace.ended(failed=failed)
        self._health.pass_ended(self._subject)
        seconds = self._clock.monotonic() - self._began
        self._metrics.had_pass(self._subject.kind, failed=failed, seconds=seconds)
        if self._subject.kind is SubjectKind.ROLLOUT:
            self._metrics.rollouts.had_pass(self._subject.namespace, self._subject.name, failed=failed)


class Caretaker:
    """What the hub's tasks run.

    Args:
        world: For rollouts.
        probes: For load probes.
        commands: For commands of people.
        health: Told about passes.
        pace: How often there is a pass.
        chance: Random numbers in [0, 1), for jitter.
        tracer: Keeps a trace of each pass.
        passes: How many passes there may be at the same time.
    """

    def __init__(
        self,
        world: World,
        probes: ProbePass,
        commands: CommandPass,
        *,
        health: Health,
        pace: Pace,
        chance: Callable[[], float],
        tracer: Tracer,
        passes: int,
    ) -> None:
        self._world = world
        self._others: dict[SubjectKind, _Pass] = {SubjectKind.PROBE: probes, SubjectKind.COMMAND: commands}
        self._health = health
        self._pace = pace
        self._chance = chance
        self._tracer = tracer
        self._turns = asyncio.Semaphore(passes)

    async def look_after(self, subject: Subject, wake: Wake) -> None:
        """Look after an object until it is gone; what was published of it goes with it."""
        try:
            await self._look_after(subject, wake)
        finally:
            if subject.kind is SubjectKind.ROLLOUT:
                self._world.metrics.rollouts.forget(subject.namespace, subject.name)

    async def _look_after(self, subject: Subject, wake: Wake) -> None:
        one = self._others.get(subject.kind) or RolloutPass(self._world)
        await look_after(
            lambda: one.run(subject),
            wake,
            pace=self._pace,
            chance=self._chance,
            watch=_PassWatch(subject, self._world.clock, self._health, self._world.metrics, self._tracer),
            fields={"kind": subject.kind, "namespace": subject.namespace, subject.kind: subject.name},
            turns=self._turns,
        )
