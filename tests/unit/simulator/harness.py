"""Shared by the simulator's tests: an engine on a virtual clock, and a server on a loopback port."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from aiohttp.test_utils import TestServer

from simulator.engine import Engine, Sequence
from simulator.exposition import Registry
from simulator.faults import Faults
from simulator.kvcache import block_hashes
from simulator.metrics import EngineMetrics
from simulator.server import Server
from simulator.settings import Capacity, LatencyModel, Settings

EXACT = LatencyModel(ttft=0.050, itl=0.020, prefill_per_token=0.001, batch_slope=0.1, sigma=0, itl_sigma=0)
"""A GPU without noise, with round figures."""


@dataclass
class VirtualEngine:
    """An engine whose events are played one after the other, as soon as they are asked for."""

    capacity: Capacity = field(default_factory=Capacity)
    latency: LatencyModel = EXACT
    seed: int = 0

    def __post_init__(self) -> None:
        settings = Settings(capacity=self.capacity, latency=self.latency, seed=self.seed, served_names=("m",))
        self.registry = Registry()
        self.engine = Engine(settings, EngineMetrics(self.registry, settings, 0))
        self.tokens: list[tuple[Sequence, float]] = []
        self._nonces = itertools.count()

    def submit(
        self,
        *,
        at: float = 0.0,
        prompt: int = 10,
        output: int = 3,
        text: str | None = None,
        factor: float = 1.0,
    ) -> Sequence:
        """Submit a request; prompts with the same ``text`` start alike."""
        words: list[object] = [text if text is not None else next(self._nonces)] * prompt
        sequence = Sequence(
            arrival=at,
            prompt_tokens=prompt,
            blocks=block_hashes(words, self.capacity.block_size),
            output_tokens=output,
            finish_reason="length",
            max_tokens=output,
            factor=factor,
        )
        self.engine.submit(sequence)
        return sequence

    def run(self, until: float = float("inf")) -> None:
        """Play all events up to a moment."""
        while (event := self.engine.next_event()) is not None and event <= until:
            self.tokens += [(sequence, event) for sequence in self.engine.advance(event, event)]

    def times(self, sequence: Sequence) -> list[float]:
        """When the tokens of a sequence came, rounded to microseconds."""
        return [round(at, 6) for owner, at in self.tokens if owner is sequence]

    def sample(self, start: str) -> float:
        """The value of the only sample on the metrics page whose line starts like this."""
        return sample(self.registry.render(), start)


def sample(page: str, start: str) -> float:
    """The value of the only sample on a metrics page whose line starts like this."""
    (line,) = [line for line in page.splitlines() if line.startswith(start)]
    return float(line.rsplit(" ", 1)[1])


FAST = Settings(
    model="example/chat-1b",
    served_names=("chat",),
    latency=LatencyModel(ttft=0.002, itl=0.001, prefill_per_token=0, batch_slope=0, sigma=0, itl_sigma=0),
)
"""A server for tests of bytes, where time does not matter."""


@asynccontextmanager
async def served(settings: Settings = FAST, faults: Faults | None = None) -> AsyncIterator[TestServer]:
    """A running server; ``faults`` hold from the start."""
    if faults is not None:
        settings = replace(settings, faults=faults)
    server = Server(settings)
    server.backend.open()
    test_server = TestServer(server.application())
    await test_server.start_server()
    try:
        yield test_server
    finally:
        await test_server.close()
