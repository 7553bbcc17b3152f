"""A probe beside a rollout that serves."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from chaffinch.ports.cluster import Kinds
from chaffinch.ports.probe_results import Finished, Progress
from chaffinch.runtime.freezing import Freezer
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.loop import Outcome
from chaffinch.runtime.probe_pass import ProbePass, ProbeSettings
from fakes.virtual_time import LoopClock, run
from fakes.workers import FakeResults, load_probe, start_workers
from fakes.world import NAMESPACE, Shop, rollout

SMOKE = {"profile": "smoke/v1"}
WARM_UP = {"warmUp": {"requests": 20, "concurrency": 4}}


@dataclass
class Bench:
    """A probe beside a rollout that serves."""

    shop: Shop
    results: FakeResults = field(default_factory=FakeResults)

    def __post_init__(self) -> None:
        cluster = self.shop.cluster
        settings = ProbeSettings("chaffinch:1", active=5, idle=60, pull_secrets=("registry",))
        self._pass = ProbePass(cluster, self.results, Freezer(cluster), LoopClock(), settings)

    async def run_pass(self) -> Outcome:
        uid = self.body["metadata"]["uid"]
        return await self._pass.run(Subject(SubjectKind.PROBE, NAMESPACE, "look", uid))

    async def run_to(self, answer: Finished | Progress | None) -> None:
        """Start the Job and its worker, and look at what the worker says."""
        await self.run_pass()
        start_workers(self.shop.cluster)
        self.results.answer = answer
        await self.run_pass()

    @property
    def body(self) -> dict[str, Any]:
        return self.shop.cluster.read(Kinds.PROBE, NAMESPACE, "look")

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.body.get("status", {})
        return status

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    def condition(self, kind: str = "Complete") -> tuple[str, str, str]:
        found = next(one for one in self.status["conditions"] if one["type"] == kind)
        return found["status"], found["reason"], found["message"]


async def bench(**spec: object) -> Bench:
    """Return a probe of a rollout that serves with two pods."""
    shop = Shop()
    shop.apply(rollout())
    for _ in range(10):
        await shop.run_pass()
        shop.obey()
    assert shop.status["stable"]["ready"] == 2
    shop.cluster.put(load_probe(**spec))
    shop.cluster.requests.clear()
    return Bench(shop)


def story(coroutine: Coroutine[Any, Any, None]) -> None:
    run(coroutine)
