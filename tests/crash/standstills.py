"""Rollouts that stay in a stage, so that something can be done to them there.

What keeps each of them is outside of the operator: pods that no node takes, workers that do not come to an
end, routers that do not answer, users who are not heard of, a person who is waited for.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from chaffinch.api.v1alpha1.command import CommandAction
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.cli.rollouts.commanding import applies_to
from chaffinch.cli.rollouts.commanding import manifest as command
from chaffinch.cli.rollouts.snapshot import snapshot_of
from chaffinch.domain.revision import revision_of
from crash.crowd import Holds, Place, apply, is_ready, says, scripted, status_of, until_all
from crash.playground import GROUP, Object, Playground
from crash.rollouts import OBJECTIVES
from stage.service import Service

NOWHERE = {"chaffinch.dev/nowhere": "yes"}
"""A node selector that no node has."""
ADMINISTRATOR = "admin"
"""Whom the cluster's certificates make of a test."""

_WARM_UP = {"name": "warm-up", "warmUp": {"requests": 8, "concurrency": 4}}
_PROBE = {"name": "probe", "probe": {"profile": "smoke/v1"}}
_CANARY = {"name": "canary-50", "canary": {"weight": 50, "for": "1h"}}
_QUICK_CANARY = {"name": "canary-50", "canary": {"weight": 50, "for": "1s"}}
_APPROVAL = {"name": "sign-off", "approval": {}}


def progress(rollout: Object) -> Mapping[str, Any]:
    """Return how far the attempt is that runs; empty without one."""
    return status_of(rollout).get("rollout") or {}


def _in_stage(stage: str) -> Holds:
    return lambda rollout: progress(rollout).get("stage") == stage


def _at_step(name: str) -> Holds:
    """At a step whose weight the routers have in force."""

    def holds(rollout: Object) -> bool:
        step = progress(rollout).get("step") or {}
        return step.get("name") == name and "acknowledgedAt" in step

    return holds


def _is_being_warmed(rollout: Object) -> bool:
    return "warmUp" in status_of(rollout).get("candidate", {})


def _is_held(rollout: Object) -> bool:
    return "hold" in progress(rollout)


def _is_paused(rollout: Object) -> bool:
    return "paused" in progress(rollout)


def _was_rolled_back(rollout: Object) -> bool:
    return says(rollout, "Stalled") == ("True", "RolledBack") and not progress(rollout)


_at_weight = _at_step("canary-50")


@dataclass(frozen=True, slots=True)
class Standstill:
    """One rollout, and where it stays.

    Attributes:
        name: Its name, which is that of the place where it stays.
        reached: Says that it is there.
        steps: Its strategy.
        versions: How many versions it has had when it is there.
        fits: Whether a node takes the pods of the newest one.
        busy: Whether the workers that load the newest one do not come to an end.
        heard: Whether anything is counted of the newest one.
        slow: Whether the newest one is slower than the one before.
        asked: What a person asks for at the step's weight, if anything.
        deaf: Whether its routers do not answer from then on.
    """

    name: str
    reached: Holds
    steps: Sequence[Mapping[str, Any]] = (_CANARY,)
    versions: int = 2
    fits: bool = True
    busy: bool = False
    heard: bool = True
    slow: bool = False
    asked: CommandAction | None = None
    deaf: bool = False

    def version(self, number: int, namespace: str) -> dict[str, Any]:
        """Return a version of the rollout, from 1."""
        document = Service(
            namespace,
            self.name,
            replicas=1,
            flags=(f"--seed={number}",),
            steps=tuple(self.steps),
            objectives=OBJECTIVES,
            image="localhost/engine:1",
        ).manifest()
        if number == self.versions and not self.fits:
            document["spec"]["pod"]["nodeSelector"] = NOWHERE
        return document

    @property
    def newest(self) -> str:
        """The revision of the newest version, in whatever namespace."""
        return revision_of(parse_rollout(self.version(self.versions, "any")))


STANDSTILLS = (
    Standstill("first", _in_stage("Deploying"), versions=1, fits=False),
    Standstill("healthy", is_ready, versions=1),
    Standstill("deploying", _in_stage("Deploying"), fits=False),
    Standstill("warming", _is_being_warmed, steps=(_WARM_UP, _CANARY), busy=True),
    Standstill("probing", _at_step("probe"), steps=(_PROBE, _CANARY), busy=True),
    Standstill("stepping", _at_weight),
    Standstill("holding", _is_held, steps=(_QUICK_CANARY,), heard=False),
    Standstill("approval", _at_step("sign-off"), steps=(_QUICK_CANARY, _APPROVAL)),
    Standstill("paused", _is_paused, asked=CommandAction.PAUSE),
    Standstill("promoting", _in_stage("Promoting"), asked=CommandAction.PROMOTE, deaf=True),
    Standstill("rolling-back", _in_stage("RollingBack"), asked=CommandAction.ABORT, deaf=True),
    Standstill("stalled", _was_rolled_back, slow=True),
)


@contextmanager
def brought(
    playground: Playground, standstills: Sequence[Standstill], namespaces: Sequence[str]
) -> Iterator[None]:
    """Bring each rollout to where it stays, in each of the namespaces; an operator has to be there."""
    there = {(namespace, one.name): one for namespace in namespaces for one in standstills}
    deaf: set[str] = set()
    script = playground.stage.script
    slow = {*script.slow, *_newest(standstills, lambda one: one.slow)}
    busy = _newest(standstills, lambda one: one.busy)
    unheard = _newest(standstills, lambda one: not one.heard)
    with scripted(script, slow=slow, busy=busy, unheard=unheard, deaf=deaf):
        _apply(playground, there, 1)
        until_all(playground, {at: is_ready for at, one in there.items() if one.versions > 1}, "all serve")
        _apply(playground, there, 2)
        commanded = {at: one for at, one in there.items() if one.asked}
        found = until_all(playground, dict.fromkeys(commanded, _at_weight), "all are at their weight")
        deaf.update(f"{namespace}/{name}" for (namespace, name), one in commanded.items() if one.deaf)
        for at, one in commanded.items():
            ask(playground, found[at], one.asked)
        until_all(playground, {at: one.reached for at, one in there.items()}, "all are where they stay")
        yield


def _newest(standstills: Sequence[Standstill], which: Callable[[Standstill], bool]) -> set[str]:
    return {one.newest for one in standstills if which(one)}


def _apply(playground: Playground, there: Mapping[Place, Standstill], number: int) -> None:
    for (namespace, _), one in there.items():
        if one.versions >= number:
            apply(playground, one.version(number, namespace))


def ask(playground: Playground, rollout: Object, action: CommandAction | None) -> None:
    """Ask for something as the command line does."""
    assert action is not None
    snapshot = snapshot_of(rollout)
    options = argparse.Namespace(reason=None, step=None)
    asked = command(snapshot, action, applies_to(action, snapshot), by=ADMINISTRATOR, options=options)
    playground.api.create(f"{GROUP}/namespaces/{snapshot.namespace}/rolloutcommands", asked)
