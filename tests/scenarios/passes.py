"""Passes as they run in the product, before an API server in memory, and what each of them writes.

Beside them there is what the rows of the state machine begin with, what makes the difference, and where they
end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.domain.names import REVISION_LABEL
from fakes.commands import command
from fakes.diary import Diary
from fakes.world import NAME, NAMESPACE, Shop, rollout

V2: dict[str, Any] = {"engine": {"image": "engine:2", "extraArgs": ["--seed=1"]}}
V3: dict[str, Any] = {"engine": {"image": "engine:3", "extraArgs": ["--seed=1"]}}
IN_A_MINUTE: dict[str, Any] = {
    "strategy": {"progressDeadline": "60s", "steps": rollout()["spec"]["strategy"]["steps"]}
}
PASSES, SECONDS = 100, 5

Pass = list[str]


class Story:
    """One rollout, and what its passes write, pass by pass.

    Attributes:
        diary: All that was written.
        shop: The rollout in its surroundings.
        obeyed: Whether the controllers of Kubernetes do what the objects say.
    """

    def __init__(self) -> None:
        self.diary = Diary()
        self.shop = Shop(cluster=self.diary)
        self.obeyed = True

    async def until(self, holds: Holds) -> list[Pass]:
        """Do passes until something is so; return what each of them wrote, but those that wrote nothing."""
        told: list[Pass] = []
        for _ in range(PASSES):
            before = len(self.diary.lines)
            await self.shop.run_pass()
            told += filter(None, [self.diary.lines[before:]])
            if holds(self):
                return told
            if self.obeyed:
                self.shop.obey()
            await asyncio.sleep(SECONDS)
        raise AssertionError(f"not in {PASSES} passes: {self.shop.status}")

    async def until_quiet(self) -> None:
        """Do passes until one of them writes nothing."""
        while await self.until(lambda _: True):
            self.shop.obey()
            await asyncio.sleep(SECONDS)

    @property
    def progress(self) -> dict[str, Any]:
        """What is stored of the attempt that runs; empty without one."""
        return dict(self.shop.status.get("rollout", {}))

    def apply(self, **changes: object) -> None:
        """Let the user apply the rollout with changes to its spec."""
        self.shop.apply(rollout(**changes))

    def ask(self, action: str) -> None:
        """Create a command about the candidate."""
        self.diary.put(command(action.lower(), action, revision=self.shop.status["candidate"]["revision"]))


Holds = Callable[[Story], bool]
Act = Callable[[Story], None]
Beginning = Callable[[Story], Awaitable[None]]


def stage(name: str) -> Holds:
    """Whether a stage is stored."""
    return lambda story: story.progress.get("stage", "Idle") == name


def in_force(step: str) -> Holds:
    """Whether the routers have a step's weight in force."""

    def holds(story: Story) -> bool:
        stored = story.progress.get("step", {})
        return stored.get("name") == step and "acknowledgedAt" in stored

    return holds


def held(reason: str) -> Holds:
    """Whether the attempt is held for a reason."""
    return lambda story: story.progress.get("hold", {}).get("reason") == reason


def stalled(reason: str) -> Holds:
    """Whether a person is needed for a reason."""
    return lambda story: story.shop.condition("Stalled") == ("True", reason)


def is_paused(story: Story) -> bool:
    return "paused" in story.progress


def serves(story: Story) -> bool:
    return story.shop.status.get("phase") == "Healthy"


def knows_stable(story: Story) -> bool:
    return "stable" in story.shop.status


def third_attempt(story: Story) -> bool:
    return bool(story.shop.status["attempts"] == 3)


async def nothing(_: Story) -> None:
    pass


async def serving(story: Story) -> None:
    """The first version serves, and nothing is written any more."""
    story.apply()
    await story.until(serves)
    await story.until_quiet()


async def deploying(story: Story) -> None:
    """The second version has been asked for, and gets no pods."""
    await serving(story)
    story.apply(**V2, **IN_A_MINUTE)
    await story.until(stage("Deploying"))
    story.obeyed = False


async def at_canary(story: Story, **changes: object) -> None:
    """The second version has 20 % of the traffic, of which nothing has been counted yet."""
    await serving(story)
    story.shop.evidence.answer = NoEvidence(Problem.NO_DATA, "nothing was counted")
    story.apply(**V2, **changes)
    await story.until(in_force("canary-20"))


async def at_canary_that_pauses(story: Story) -> None:
    await at_canary(story, onFailure="Pause")


async def rolled_back(story: Story) -> None:
    """The second version was rolled back, and the first one is asked for again."""
    await at_canary(story)
    is_slow(story)
    await story.until(stage("Idle"))
    story.apply()
    await story.until_quiet()


async def failed_before_the_last(story: Story) -> None:
    """The second version was rolled back, and the third one has been promoted since."""
    await rolled_back(story)
    story.shop.evidence.factor = 1.0
    story.apply(**V3)
    await story.until(serves)
    await story.until_quiet()


def wait(_: Story) -> None:
    pass


def ask_for(**changes: object) -> Act:
    return lambda story: story.apply(**changes)


def command_to(action: str) -> Act:
    return lambda story: story.ask(action)


def gets_no_pods(story: Story) -> None:
    story.apply(**IN_A_MINUTE)
    story.obeyed = False


def lose_the_status(story: Story) -> None:
    del story.shop.cluster.objects["InferenceRollout", NAMESPACE, NAME]["status"]


def lose_the_canary(story: Story) -> None:
    """No pod of the candidate is Ready any more."""
    candidate = story.shop.status["candidate"]["revision"]
    for (kind, _, _), found in story.diary.objects.items():
        if kind == "Pod" and found["metadata"]["labels"].get(REVISION_LABEL) == candidate:
            found["status"]["conditions"][0]["status"] = "False"
    story.obeyed = False


def is_good(story: Story) -> None:
    story.shop.evidence.answer = None


def is_slow(story: Story) -> None:
    story.shop.evidence.answer, story.shop.evidence.factor = None, 1.6
