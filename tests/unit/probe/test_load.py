"""The load generator against a small engine on the loopback interface."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from aiohttp import web

from chaffinch.api.v1alpha1.profile import Output, Prompt, PromptShare, Stage, WarmUp
from chaffinch.domain import grid
from chaffinch.probe.client import Client
from chaffinch.probe.load import STAGE_TIMEOUT, LoadGenerator
from chaffinch.probe.plan import ProbePlan
from chaffinch.probe.result import ProbeRecord, WarmUpRecord, parse_record, status_result
from chaffinch.probe.watch import Watch
from unit.probe.fakeengine import FakeEngine


def stage(name: str, *, concurrency: int, requests: int, timeout: str = "60s") -> Stage:
    return Stage(name=name, concurrency=concurrency, requests=requests, timeout=timeout)


def plan(*engines: FakeEngine, **changes: object) -> ProbePlan:
    values: dict[str, object] = {
        "probe_uid": "uid-1",
        "attempt": 2,
        "targets": tuple(engine.url for engine in engines),
        "model": "chat",
        "warm_up": WarmUp(requests=4, concurrency=2),
        "stages": (stage("gate", concurrency=4, requests=40),),
        "gate_stage": "gate",
        "prompt": Prompt(tokens=12),
        "output": Output(tokens=3),
        "request_timeout": "20s",
    }
    return ProbePlan.model_validate(values | changes)


async def run(wanted: ProbePlan, watch: Watch | None = None) -> ProbeRecord:
    async with Client() as client:
        return await LoadGenerator(wanted, client, watch or Watch()).run()


async def test_a_stage_sends_what_was_planned_and_counts_it_all() -> None:
    async with FakeEngine() as engine:
        record = await run(plan(engine))
    (gate,) = record.stages
    assert (record.probe_uid, record.attempt, record.engine_version) == ("uid-1", 2, "0.33.0")
    assert record.warm_up == WarmUpRecord(requests=4, errors=0)
    assert (gate.name, gate.concurrency, gate.planned, gate.requests) == ("gate", 4, 40, 40)
    assert (gate.errors, gate.errors_by_kind, gate.stopped, gate.unknown_tokens) == (0, {}, None, 0)
    assert (gate.prompt_tokens, gate.output_tokens) == (480, 120)
    assert (
        gate.output_tokens_per_1000_seconds == round(120e6 / gate.duration_millis, -1)
        or abs(gate.output_tokens_per_1000_seconds * gate.duration_millis / 120e6 - 1) < 0.01
    )
    totals = {name: grid.decode(text).total for name, text in gate.sketches.model_dump().items()}
    assert totals == {"ttft": 40, "e2e": 40, "tpot": 40}
    assert grid.decode(gate.itl).total == 80
    ttft, e2e = (grid.decode(text or "") for text in (gate.sketches.ttft, gate.sketches.e2e))
    assert 0.01 <= (ttft.quantile_seconds(0.01) or 0) < (e2e.quantile_seconds(0.99) or 0) < 5
    assert len(engine.prompts) == 44


async def test_never_more_requests_are_open_than_the_stage_says() -> None:
    async with FakeEngine() as engine:
        record = await run(plan(engine, warm_up=None, stages=(stage("gate", concurrency=6, requests=60),)))
    assert engine.most_open == 6
    mean = record.stages[0].generator.mean_concurrency_milli
    assert mean is not None
    assert 3000 < mean <= 6010


async def test_the_warm_up_is_not_drained_before_the_first_stage() -> None:
    async with FakeEngine(ttft=0.1) as engine:
        await run(
            plan(
                engine,
                warm_up=WarmUp(requests=4, concurrency=4),
                stages=(stage("gate", concurrency=6, requests=12),),
            )
        )
    assert engine.open_at_start[4:6] == [5, 6], "the stage began while all of the warm-up was open"
    assert engine.most_open == 6


async def test_a_plan_with_no_stages_only_warms_up() -> None:
    async with FakeEngine() as engine:
        record = await run(plan(engine, stages=(), gate_stage=None))
    assert (record.warm_up, record.stages) == (WarmUpRecord(requests=4, errors=0), ())


async def test_each_target_gets_the_whole_warm_up_at_the_whole_concurrency() -> None:
    async with FakeEngine(ttft=0.1) as one, FakeEngine(ttft=0.1) as two, FakeEngine(ttft=0.1) as three:
        warming = plan(one, two, three, warm_up=WarmUp(requests=6, concurrency=2), stages=(), gate_stage=None)
        record = await run(warming)
    assert record.warm_up == WarmUpRecord(requests=18, errors=0)
    engines = (one, two, three)
    assert [(len(engine.prompts), engine.open_at_start[:2]) for engine in engines] == [(6, [1, 2])] * 3


async def test_a_warm_up_names_the_targets_that_never_answered_well() -> None:
    async def broken(_: int) -> web.StreamResponse:
        return web.Response(status=500)

    async with FakeEngine() as one, FakeEngine(fault=broken) as two, FakeEngine() as three:
        record = await run(plan(one, two, three, stages=(), gate_stage=None))
        assert record.warm_up == WarmUpRecord(
            requests=12, errors=4, errors_by_kind={"error_5xx": 4}, cold=(two.url,)
        )


async def test_requests_go_to_the_targets_in_turn() -> None:
    async with FakeEngine() as one, FakeEngine() as two, FakeEngine() as three:
        await run(plan(one, two, three, warm_up=None, stages=(stage("gate", concurrency=2, requests=30),)))
    assert [len(engine.prompts) for engine in (one, two, three)] == [10, 10, 10]


async def test_prompt_lengths_have_the_shares_of_the_mix_and_every_prompt_is_new() -> None:
    mix = Prompt(mix=(PromptShare(tokens=10, share="90%"), PromptShare(tokens=300, share="10%")))
    async with FakeEngine() as engine:
        first = plan(engine, prompt=mix, warm_up=None)
        await run(first)
        await run(first.model_copy(update={"probe_uid": "uid-2"}))
    lengths = [len(prompt.split()) for prompt in engine.prompts]
    assert Counter(lengths[:40]) == Counter({10: 36, 300: 4})
    assert lengths[:40] == lengths[40:], "two runs carry the same work in the same order"
    assert len(set(engine.prompts)) == 80, "but no prompt that a cache could know"


async def test_failures_in_a_row_end_the_stage_and_only_the_gate_stage_is_still_run() -> None:
    async def broken(_: int) -> web.StreamResponse:
        return web.Response(status=500)

    stages = tuple(stage(name, concurrency=2, requests=500) for name in ("low", "middle", "gate", "high"))
    async with FakeEngine(fault=broken) as engine:
        record = await run(plan(engine, stages=stages))
    assert [s.name for s in record.stages] == ["low", "gate"]
    for measured in record.stages:
        assert measured.stopped == "20 requests in a row failed"
        assert 20 <= measured.requests == measured.errors <= 22
        assert measured.errors_by_kind == {"error_5xx": measured.errors}
    assert not status_result(record).stages[0].complete


async def test_failures_with_successes_between_them_do_not_end_the_stage() -> None:
    async def every_other(number: int) -> web.StreamResponse | None:
        return web.Response(status=503) if number % 2 else None

    async with FakeEngine(fault=every_other) as engine:
        record = await run(plan(engine, warm_up=None, stages=(stage("gate", concurrency=1, requests=60),)))
    (gate,) = record.stages
    assert (gate.requests, gate.errors, gate.stopped) == (60, 30, None)


async def test_the_timeout_of_a_stage_ends_it_without_blaming_the_server() -> None:
    async with FakeEngine(ttft=5) as engine:
        short = stage("gate", concurrency=3, requests=10, timeout="1s")
        record = await run(plan(engine, warm_up=None, stages=(short,)))
    (gate,) = record.stages
    assert (gate.requests, gate.errors, gate.stopped) == (0, 0, STAGE_TIMEOUT)
    assert 1000 <= gate.duration_millis < 3000


async def test_the_timeout_of_a_request_is_a_failure() -> None:
    async def hang(number: int) -> None:
        if number == 1:
            await asyncio.sleep(10)

    async with FakeEngine(fault=hang) as engine:
        record = await run(
            plan(
                engine,
                warm_up=None,
                stages=(stage("gate", concurrency=2, requests=6),),
                request_timeout="1s",
            )
        )
    (gate,) = record.stages
    assert (gate.requests, gate.errors_by_kind, gate.stopped) == (6, {"error_timeout": 1}, None)
    assert grid.decode(gate.sketches.e2e or "").counts[grid.OVERFLOW] == 1


async def test_a_record_survives_its_text_and_holds_no_float() -> None:
    async with FakeEngine() as engine:
        record = await run(plan(engine))
    text = record.to_json()
    json.loads(text, parse_float=lambda digits: pytest.fail(f"a float: {digits}"))
    assert parse_record(text, probe_uid="uid-1", attempt=2) == record


async def test_progress_and_metrics_tell_how_far_a_run_is() -> None:
    watch = Watch()
    async with FakeEngine() as engine:
        await run(plan(engine), watch)
    assert watch.progress() == {"stage": "gate", "requests": 40}
    count = watch.registry.get_sample_value
    assert count("chaffinch_probe_requests_total", {"stage": "gate", "outcome": "ok"}) == 40
    assert count("chaffinch_probe_requests_total", {"stage": "warm-up", "outcome": "ok"}) == 4


async def test_a_stage_that_ended_at_its_timeout_does_not_end_the_ladder() -> None:
    stages = (
        stage("low", concurrency=1, requests=1000, timeout="1s"),
        stage("gate", concurrency=2, requests=10),
        stage("high", concurrency=3, requests=10),
    )
    async with FakeEngine() as engine:
        record = await run(plan(engine, warm_up=None, stages=stages))
    assert [(s.name, s.stopped) for s in record.stages] == [
        ("low", STAGE_TIMEOUT),
        ("gate", None),
        ("high", None),
    ]
    assert 0 < record.stages[0].requests < 1000
