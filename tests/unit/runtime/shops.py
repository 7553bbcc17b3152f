"""Rollouts that have come so far, and how to let one go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.runtime.loop import Pace, Watch, look_after
from chaffinch.runtime.wake import Wake
from fakes.commands import REVISION, command
from fakes.virtual_time import LoopClock
from fakes.world import NAME, Shop, rollout

V2: dict[str, Any] = {"engine": {"image": "engine:2", "extraArgs": ["--seed=1"]}}


async def until(shop: Shop, done: Callable[[], bool], *, seconds: float = 900) -> None:
    """Let the rollout's task and the cluster work until something is so."""
    task = asyncio.create_task(keep_passing(shop))
    try:
        for _ in range(int(seconds)):
            if done():
                return
            shop.obey()
            await asyncio.sleep(1)
        raise AssertionError(f"not within {seconds} s: {shop.status}")
    finally:
        task.cancel()


async def keep_passing(shop: Shop) -> None:
    """Run the rollout's own task until it is cancelled."""
    await look_after(
        shop.run_pass, Wake(), pace=Pace(), chance=lambda: 0.5, watch=Watch(), fields={"rollout": NAME}
    )


async def healthy() -> Shop:
    """Return a shop whose first version serves."""
    shop = Shop()
    shop.apply(rollout())
    await until(shop, lambda: shop.status.get("phase") == "Healthy")
    return shop


async def at_canary() -> Shop:
    """Return a shop whose second version has 20 % of the traffic, and no evidence for more yet."""
    shop = await healthy()
    shop.evidence.answer = NoEvidence(Problem.NO_DATA, "nothing was counted")
    shop.apply(rollout(**V2))
    await until(shop, lambda: "acknowledgedAt" in shop.status.get("rollout", {}).get("step", {}))
    return shop


def ask(shop: Shop, name: str, action: str, *, seconds: float = 0, of: str = NAME) -> None:
    """Create a command about the candidate, else about another revision."""
    revision = shop.status.get("candidate", {}).get("revision", REVISION)
    created = LoopClock().now() + timedelta(seconds=seconds)
    shop.cluster.put(command(name, action, rollout=of, revision=revision, created=created))
