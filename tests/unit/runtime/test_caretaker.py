"""What is published of a rollout goes away with it, however it went."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chaffinch.ports.cluster import Kinds
from chaffinch.runtime.caretaker import Caretaker
from chaffinch.runtime.health import Health
from chaffinch.runtime.hub import Hub, Subject, SubjectKind
from chaffinch.runtime.loop import Pace
from chaffinch.runtime.tracing import NoTracer
from fakes.virtual_time import run
from fakes.world import NAME, NAMESPACE, Shop, rollout
from unit.runtime.scrape import scrape


def _hub(shop: Shop) -> Hub:
    unused: Any = None
    health = Health(shop.world.clock, longest_pass=60)
    care = Caretaker(
        shop.world,
        unused,
        unused,
        health=health,
        pace=Pace(),
        chance=lambda: 0.5,
        tracer=NoTracer(),
        passes=4,
    )
    return Hub(care.look_after)


def _rollouts(shop: Shop) -> set[str]:
    return {
        dict(labels)["rollout"] for _, labels in scrape(shop.metrics.registry) if dict(labels).get("rollout")
    }


@pytest.mark.parametrize("told", [True, False], ids=["the watch tells", "a pass finds out"])
def test_the_series_of_a_deleted_rollout_go_away(told: bool) -> None:
    async def story() -> list[set[str]]:
        shop = Shop()
        shop.apply(rollout())
        subject = Subject(SubjectKind.ROLLOUT, NAMESPACE, NAME, shop.body["metadata"]["uid"])
        hub = _hub(shop)
        hub.saw(subject)
        await asyncio.sleep(10)
        found = [_rollouts(shop)]
        del shop.cluster.objects[Kinds.ROLLOUT.kind, NAMESPACE, NAME]
        hub.saw(subject, deleted=told)
        await asyncio.sleep(10)
        await hub.stop(1)
        return [*found, _rollouts(shop)]

    assert run(story()) == [{NAME}, set()]


def test_a_pass_that_fails_shows_until_the_next_one_does_not() -> None:
    async def story() -> list[float]:
        shop, found = Shop(), []
        shop.apply(rollout())
        shop.cluster.fault = lambda verb, _: RuntimeError("trouble") if verb == "list" else None
        hub = _hub(shop)
        hub.saw(Subject(SubjectKind.ROLLOUT, NAMESPACE, NAME, shop.body["metadata"]["uid"]))
        await asyncio.sleep(1)
        key = ("chaffinch_rollout_pass_failed", (("rollout", NAME), ("rollout_namespace", NAMESPACE)))
        found.append(scrape(shop.metrics.registry)[key])
        shop.cluster.fault = lambda *_: None
        await asyncio.sleep(60)
        found.append(scrape(shop.metrics.registry)[key])
        await hub.stop(1)
        return found

    assert run(story()) == [1, 0]
