"""The probe against the simulated engine, whose latencies and faults are known from its arguments."""

from __future__ import annotations

import aiohttp
import pytest

from chaffinch.api.v1alpha1.profile import Output, Prompt, Stage, WarmUp
from chaffinch.domain import grid
from chaffinch.probe.client import Client
from chaffinch.probe.load import LoadGenerator
from chaffinch.probe.plan import ProbePlan
from chaffinch.probe.result import ProbeRecord
from chaffinch.probe.watch import Watch
from unit.simulator.processes import healthy, simulator

QUIET = "--sim-sigma 0 --sim-itl-sigma 0 --sim-batch-slope 0 --sim-prefill-us-per-token 0"


async def probe(arguments: str, *, concurrency: int = 4, requests: int = 60) -> tuple[ProbeRecord, str]:
    """Run a probe against a simulator with these arguments; also returns the simulator's metrics."""
    async with simulator(f"{QUIET} {arguments}") as (_, url), aiohttp.ClientSession() as session:
        await healthy(session, url)
        plan = ProbePlan(
            probe_uid="uid",
            targets=(url,),
            model="m",
            warm_up=WarmUp(requests=4, concurrency=2),
            stages=tuple(
                Stage(name=name, concurrency=concurrency, requests=requests, timeout="120s")
                for name in ("one", "gate")
            ),
            gate_stage="gate",
            prompt=Prompt(tokens=64),
            output=Output(tokens=8),
            request_timeout="30s",
        )
        async with Client() as client:
            record = await LoadGenerator(plan, client, Watch()).run()
        async with session.get(url + "/metrics") as reply:
            return record, await reply.text()


def metric(text: str, name: str) -> float:
    return sum(
        float(line.split()[-1]) for line in text.splitlines() if line.startswith((name + "{", name + " "))
    )


async def test_a_healthy_engine_is_measured_as_it_is() -> None:
    record, metrics = await probe("--sim-ttft-ms 80 --sim-itl-ms 15", requests=24)
    assert record.engine_version == "0.33.0"
    gate = record.stages[1]
    assert (gate.requests, gate.errors, gate.output_tokens, gate.unknown_tokens) == (24, 0, 192, 0)
    ttft, tpot = (
        grid.decode(text or "").quantile_seconds(0.5) for text in (gate.sketches.ttft, gate.sketches.tpot)
    )
    assert ttft is not None
    assert tpot is not None
    # A token waits for the iteration in progress and is on the grid; a busy machine only adds.
    assert 0.080 <= ttft < 0.200
    assert 0.014 <= tpot < 0.040
    assert metric(metrics, "vllm:request_success_total") == 52, "the engine has seen no other request"


async def test_no_prompt_of_a_run_is_answered_from_the_prefix_cache() -> None:
    record, metrics = await probe("--sim-ttft-ms 10 --sim-itl-ms 2 --enable-prompt-tokens-details")
    assert metric(metrics, "vllm:prefix_cache_queries_total") > 0
    assert metric(metrics, "vllm:prefix_cache_hits_total") == 0
    assert [stage.cached_tokens for stage in record.stages] == [0, 0]


FAULTS = {
    "http500": "error_5xx",
    "refused": "error_reset",
    "cut": "error_cut",
    "inband": "error_in_band",
    "404": "client_4xx",
    "429": "throttled",
}


@pytest.mark.parametrize(("fault", "kind"), FAULTS.items())
async def test_every_fault_of_the_simulator_is_counted_by_its_kind(fault: str, kind: str) -> None:
    record, _ = await probe(f"--sim-ttft-ms 10 --sim-itl-ms 2 --sim-error-share {fault}=0.3", requests=80)
    for stage in record.stages:
        assert stage.errors_by_kind == {kind: stage.errors}
        assert 8 <= stage.errors <= 42, "0.3 of 80, give or take 4 standard deviations"
        assert grid.decode(stage.sketches.e2e or "").counts[grid.OVERFLOW] == stage.errors
        assert stage.output_tokens == 8 * (stage.requests - stage.errors)
