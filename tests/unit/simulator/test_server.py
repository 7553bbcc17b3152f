"""The server over a real connection: replies, faults, and what clients that leave leave behind."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from simulator.faults import ErrorKind, Faults
from simulator.settings import LatencyModel
from unit.simulator.harness import FAST, sample, served

BROKEN = (aiohttp.ClientPayloadError, aiohttp.ClientOSError)
SLOW = replace(FAST, latency=replace(FAST.latency, itl=0.05))


def chat(content: str = "hello there", **fields: object) -> dict[str, Any]:
    body = {"model": "chat", "messages": [{"role": "user", "content": content}], "ignore_eos": True}
    return {**body, "max_tokens": 4, **fields}


def only(kind: ErrorKind) -> Faults:
    return Faults(error_shares={kind: 1.0})


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
        yield session


async def post(client: aiohttp.ClientSession, server: TestServer, path: str, body: object) -> tuple[int, Any]:
    async with client.post(server.make_url(path), json=body) as reply:
        return reply.status, json.loads(await reply.read())


async def stream(client: aiohttp.ClientSession, server: TestServer, **fields: object) -> list[str]:
    async with client.post(
        server.make_url("/v1/chat/completions"), json={**chat(stream=True), **fields}
    ) as reply:
        assert (reply.status, reply.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
        return (await reply.text()).split("\n\n")


async def metrics(client: aiohttp.ClientSession, server: TestServer) -> str:
    async with client.get(server.make_url("/metrics")) as reply:
        assert reply.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return await reply.text()


async def eventually(client: aiohttp.ClientSession, server: TestServer, start: str, want: float) -> None:
    for _ in range(200):
        if sample(await metrics(client, server), start) == want:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{start} never became {want}")


async def test_a_stream_is_role_tokens_finish_counts_done(client: aiohttp.ClientSession) -> None:
    async with served() as server:
        events = await stream(client, server, stream_options={"include_usage": True})
    assert events[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
    assert [[choice["delta"] for choice in chunk["choices"]] for chunk in chunks[:1]] == [
        [{"role": "assistant", "content": ""}]
    ]
    reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]]
    assert reasons == [None, None, None, None, "length"]
    assert chunks[-1]["usage"] == {"prompt_tokens": 4, "total_tokens": 8, "completion_tokens": 4}
    assert len({chunk["id"] for chunk in chunks}) == 1


async def test_without_include_usage_no_counts_come(client: aiohttp.ClientSession) -> None:
    async with served() as server:
        assert not any("usage" in event for event in await stream(client, server))
    async with served(replace(FAST, force_include_usage=True)) as server:
        assert any("usage" in event for event in await stream(client, server))


async def test_equal_prompts_at_temperature_0_get_equal_answers_from_every_version(
    client: aiohttp.ClientSession,
) -> None:
    answers = []
    for seed in (1, 2):
        async with served(replace(FAST, seed=seed)) as server:
            for _ in range(2):
                _, body = await post(client, server, "/v1/chat/completions", chat(temperature=0))
                answers.append(body["choices"][0]["message"]["content"])
    assert len(set(answers)) == 1


async def test_the_same_seed_repeats_the_same_run(client: aiohttp.ClientSession) -> None:
    async def run(seed: int) -> list[tuple[str, int]]:
        async with served(replace(FAST, seed=seed)) as server:
            bodies = [
                await post(
                    client, server, "/v1/chat/completions", chat(str(n), ignore_eos=False, max_tokens=500)
                )
                for n in range(4)
            ]
        return [
            (body["choices"][0]["message"]["content"], body["usage"]["completion_tokens"])
            for _, body in bodies
        ]

    assert await run(1) == await run(1)
    assert await run(1) != await run(2)


async def test_an_answer_may_end_by_itself_but_not_before_min_tokens(client: aiohttp.ClientSession) -> None:
    async with served(replace(FAST, output_tokens=3)) as server:
        free = chat(ignore_eos=False, max_tokens=200)
        _, short = await post(client, server, "/v1/chat/completions", free)
        _, longer = await post(client, server, "/v1/chat/completions", {**free, "min_tokens": 40})
    assert short["choices"][0]["finish_reason"] == longer["choices"][0]["finish_reason"] == "stop"
    assert short["usage"]["completion_tokens"] < 40 == longer["usage"]["completion_tokens"]


async def test_a_completion_without_a_stream_is_one_object(client: aiohttp.ClientSession) -> None:
    async with served() as server:
        status, body = await post(client, server, "/v1/completions", {"prompt": "a b c", "ignore_eos": True})
    assert (status, body["object"], body["usage"]["completion_tokens"]) == (200, "text_completion", 16)
    assert len(body["choices"][0]["text"].split()) == 16


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("/version", {"version": "0.33.0"}),
        (
            "/sim/faults",
            {"latency_factor": 1.0, "latency_min_prompt_tokens": 0, "latency_after": 0.0, "error_shares": {}},
        ),
    ],
)
async def test_small_endpoints(client: aiohttp.ClientSession, path: str, want: object) -> None:
    async with served() as server, client.get(server.make_url(path)) as reply:
        assert (reply.status, json.loads(await reply.read())) == (200, want)


async def test_health_is_an_empty_200(client: aiohttp.ClientSession) -> None:
    async with served() as server, client.get(server.make_url("/health")) as reply:
        assert (reply.status, await reply.read()) == (200, b"")


async def test_models_are_listed_under_every_served_name(client: aiohttp.ClientSession) -> None:
    settings = replace(FAST, served_names=("chat", "chat-latest"))
    async with served(settings) as server, client.get(server.make_url("/v1/models")) as reply:
        cards = json.loads(await reply.read())["data"]
    assert [(card["id"], card["root"], card["max_model_len"]) for card in cards] == [
        ("chat", "example/chat-1b", 32768),
        ("chat-latest", "example/chat-1b", 32768),
    ]


@pytest.mark.parametrize(
    ("body", "want"),
    [({"prompt": "a b c"}, 3), ({"messages": [{"role": "user", "content": "a b c"}]}, 5)],
)
async def test_tokenize_counts(client: aiohttp.ClientSession, body: object, want: int) -> None:
    async with served() as server:
        assert (await post(client, server, "/tokenize", body))[1]["count"] == want
        assert (await post(client, server, "/tokenize", {}))[0] == 400


@pytest.mark.parametrize(
    ("body", "want_status", "want_message"),
    [
        (chat(model="other"), 404, "The model `other` does not exist."),
        (chat(max_tokens=40000), 400, "This model's maximum context length is 32768 tokens."),
        ({}, 400, "messages: must be a list"),
    ],
)
async def test_a_bad_request_is_answered_as_vllm_does(
    client: aiohttp.ClientSession, body: object, want_status: int, want_message: str
) -> None:
    async with served() as server:
        status, reply = await post(client, server, "/v1/chat/completions", body)
    assert (status, reply["error"]["code"]) == (want_status, want_status)
    assert reply["error"]["message"].startswith(want_message)


@pytest.mark.parametrize(
    ("kind", "want_status", "want_type"),
    [
        (ErrorKind.HTTP_500, 500, "InternalServerError"),
        (ErrorKind.NOT_FOUND, 404, "NotFoundError"),
        (ErrorKind.TOO_MANY, 429, "RateLimitError"),
    ],
)
async def test_fault_error_replies(
    client: aiohttp.ClientSession, kind: ErrorKind, want_status: int, want_type: str
) -> None:
    async with served(faults=only(kind)) as server:
        status, reply = await post(client, server, "/v1/chat/completions", chat(stream=True))
        page = await metrics(client, server)
    assert (status, reply["error"]["type"], reply["error"]["code"]) == (want_status, want_type, want_status)
    assert sample(page, "http_requests_total{") == 1
    assert sample(page, "vllm:prompt_tokens_total") == 0


async def test_fault_refused_resets_the_connection_before_a_reply(client: aiohttp.ClientSession) -> None:
    async with served(faults=only(ErrorKind.REFUSED)) as server:
        for body in (chat(stream=True), chat()):
            with pytest.raises(aiohttp.ClientOSError):
                await post(client, server, "/v1/chat/completions", body)


async def test_fault_cut_resets_a_stream_midway(client: aiohttp.ClientSession) -> None:
    received = b""
    async with served(SLOW, only(ErrorKind.CUT)) as server:
        async with client.post(server.make_url("/v1/chat/completions"), json=chat(stream=True)) as reply:
            # Piece by piece: a read of everything would lose what came before the reset.
            while reply.content.exception() is None:
                with suppress(*BROKEN):
                    received += await reply.content.readany()
        await eventually(client, server, "vllm:num_requests_running", 0)
    # The role and two of the four tokens.
    assert received.count(b"data: ") == 3
    assert b"[DONE]" not in received


async def test_fault_cut_breaks_a_whole_reply_in_the_middle(client: aiohttp.ClientSession) -> None:
    async with served(faults=only(ErrorKind.CUT)) as server:
        with pytest.raises(BROKEN):
            await post(client, server, "/v1/chat/completions", chat())


async def test_fault_inband_ends_a_stream_of_status_200_with_an_error_event(
    client: aiohttp.ClientSession,
) -> None:
    async with served(faults=only(ErrorKind.IN_BAND)) as server:
        events = await stream(client, server)
        ended = 'vllm:request_success_total{engine="0",finished_reason="error"'
        await eventually(client, server, ended, 1)
    assert events[-3:] == [
        'data: {"error":{"message":"engine stopped","type":"InternalServerError","param":null,"code":500}}',
        "data: [DONE]",
        "",
    ]
    assert len(events) == 6


async def test_fault_inband_is_an_error_object_where_no_stream_was_asked_for(
    client: aiohttp.ClientSession,
) -> None:
    async with served(faults=only(ErrorKind.IN_BAND)) as server:
        status, body = await post(client, server, "/v1/chat/completions", chat())
    assert (status, body["error"]["message"]) == (200, "engine stopped")


async def test_a_share_of_requests_fails_the_same_ones_in_every_run(client: aiohttp.ClientSession) -> None:
    async def run() -> list[int]:
        async with served(faults=Faults(error_shares={ErrorKind.HTTP_500: 0.3})) as server:
            return [
                (await post(client, server, "/v1/chat/completions", chat(str(n), max_tokens=1)))[0]
                for n in range(60)
            ]

    first = await run()
    assert first == await run()
    assert 8 <= first.count(500) <= 30


async def test_faults_change_at_run_time(client: aiohttp.ClientSession) -> None:
    async with served() as server:
        status, shown = await post(client, server, "/sim/faults", {"error_shares": {"http500": 1}})
        assert (status, shown["error_shares"]) == (200, {"http500": 1.0})
        assert (await post(client, server, "/v1/chat/completions", chat()))[0] == 500
        await post(client, server, "/sim/faults", {"error_shares": {}})
        assert (await post(client, server, "/v1/chat/completions", chat()))[0] == 200
        status, refused = await post(client, server, "/sim/faults", {"speed": 1})
        assert (status, refused["error"]["message"][:21]) == (400, "speed: unknown field;")


async def test_a_latency_factor_reaches_the_clients(client: aiohttp.ClientSession) -> None:
    settings = replace(FAST, latency=LatencyModel(ttft=0.05, itl=0, sigma=0, prefill_per_token=0))
    async with served(settings) as server:
        await post(client, server, "/v1/chat/completions", chat("a", max_tokens=1))
        await post(client, server, "/sim/faults", {"latency_factor": 4, "latency_min_prompt_tokens": 10})
        await post(client, server, "/v1/chat/completions", chat("b", max_tokens=1))
        before = sample(await metrics(client, server), "vllm:time_to_first_token_seconds_sum")
        await post(client, server, "/v1/chat/completions", chat("c " * 10, max_tokens=1))
        after = sample(await metrics(client, server), "vllm:time_to_first_token_seconds_sum")
    assert 0.09 < before < 0.19 < after - before


async def test_a_client_that_leaves_frees_the_engine(client: aiohttp.ClientSession) -> None:
    async with served(SLOW) as server:
        body = chat(stream=True, max_tokens=1000)
        async with client.post(server.make_url("/v1/chat/completions"), json=body) as reply:
            await reply.content.readany()
            await eventually(client, server, "vllm:num_requests_running", 1)
        await eventually(client, server, "vllm:num_requests_running", 0)
        assert sample(await metrics(client, server), "vllm:kv_cache_usage_perc") == 0


async def test_a_second_engine_takes_the_request_that_the_first_has_no_need_of(
    client: aiohttp.ClientSession,
) -> None:
    async with served(replace(FAST, data_parallel_size=2)) as server:
        await asyncio.gather(*(stream(client, server, max_tokens=20) for _ in range(4)))
        page = await metrics(client, server)
    counts = [sample(page, f'vllm:generation_tokens_total{{engine="{engine}"') for engine in (0, 1)]
    assert counts == [40, 40]
