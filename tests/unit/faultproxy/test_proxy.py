"""The proxy between a client and a small server that keeps what it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from faultproxy import (
    Answer,
    Calls,
    CutAfter,
    CutBefore,
    Delay,
    Expire,
    FaultProxy,
    Mute,
    Replay,
    ReplyThen,
    Rule,
    Upstream,
)

THINGS = "/api/v1/namespaces/shop/configmaps"
CREATES = Calls(verbs=frozenset({"create"}))
WATCHES = Calls(verbs=frozenset({"watch"}))


class Server:
    """Stores what is created; a watch tells three events and stays open."""

    def __init__(self) -> None:
        self.stored: list[str] = []
        self.authorizations: set[str] = set()

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post(THINGS, self._create)
        app.router.add_get(THINGS, self._watch)
        return app

    async def _create(self, request: web.Request) -> web.Response:
        self.authorizations.add(request.headers.get("Authorization", ""))
        self.stored.append((await request.json())["metadata"]["name"])
        return web.json_response({"metadata": {"resourceVersion": "7"}}, status=201)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        for number in (1, 2, 3):
            await stream.write(json.dumps({"type": "ADDED", "object": number}).encode() + b"\n")
        await asyncio.sleep(5)
        return stream


@pytest.fixture
async def server() -> AsyncIterator[tuple[Server, str]]:
    server = Server()
    runner = web.AppRunner(server.app(), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield server, f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
async def proxy(server: tuple[Server, str]) -> AsyncIterator[FaultProxy]:
    proxy = FaultProxy(Upstream(server[1], headers={"Authorization": "Bearer of-the-operator"}))
    await proxy.start()
    yield proxy
    await proxy.stop()


async def create(proxy: FaultProxy, name: str = "a") -> int | None:
    """Create a thing; None if the connection breaks."""
    async with aiohttp.ClientSession() as session:
        try:
            async with session.post(f"{proxy.url}{THINGS}", json={"metadata": {"name": name}}) as answer:
                await answer.read()
                return answer.status
        except aiohttp.ClientError:
            return None


async def watch(proxy: FaultProxy, most: int, seconds: float = 1.0) -> list[object]:
    """Return the first events of a watch: at most so many, and those that come in time."""
    told: list[object] = []
    async with aiohttp.ClientSession() as session, session.get(f"{proxy.url}{THINGS}?watch=true") as answer:
        try:
            async with asyncio.timeout(seconds):
                while len(told) < most and (line := await answer.content.readline()):
                    event = json.loads(line)
                    told.append(event["object"] if event["type"] == "ADDED" else event["object"]["code"])
        except TimeoutError:
            pass
    return told


async def test_what_no_rule_names_is_passed_on_with_the_clients_credentials(
    proxy: FaultProxy, server: tuple[Server, str]
) -> None:
    assert await create(proxy) == 201
    assert server[0].stored == ["a"]
    assert server[0].authorizations == {"Bearer of-the-operator"}
    (entry,) = proxy.journal.entries
    assert (str(entry), entry.created, entry.version) == ("create configmaps shop a -> 201", True, "7")


async def test_a_cut_before_the_send_changes_nothing(proxy: FaultProxy, server: tuple[Server, str]) -> None:
    happened: list[str] = []
    proxy.script.add(Rule(CREATES, CutBefore(lambda: happened.append("now")), first=2))
    assert [await create(proxy, name) for name in "abc"] == [201, None, 201]
    assert (server[0].stored, happened) == (["a", "c"], ["now"])
    assert str(proxy.journal.entries[1]) == "create configmaps shop b -> no answer [CutBefore]"


async def test_a_cut_after_the_send_changes_something_that_the_client_does_not_know_of(
    proxy: FaultProxy, server: tuple[Server, str]
) -> None:
    happened: list[list[str]] = []
    proxy.script.add(Rule(CREATES, CutAfter(lambda: happened.append(list(server[0].stored)))))
    assert [await create(proxy, name) for name in "ab"] == [None, 201]
    assert (server[0].stored, happened) == (["a", "b"], [["a"]])
    assert proxy.journal.entries[0].created


async def test_something_may_happen_once_the_client_has_its_answer(proxy: FaultProxy) -> None:
    happened: list[str] = []
    proxy.script.add(Rule(CREATES, ReplyThen(lambda: happened.append("now"))))
    assert (await create(proxy), happened) == (201, ["now"])


async def test_the_proxy_answers_in_the_servers_place(proxy: FaultProxy, server: tuple[Server, str]) -> None:
    proxy.script.add(Rule(CREATES, Answer(429, "TooManyRequests", retry_after=3)))
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{proxy.url}{THINGS}", json={"metadata": {"name": "a"}}) as answer,
    ):
        content = await answer.json()
        assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
    assert (content["kind"], content["reason"], content["code"]) == ("Status", "TooManyRequests", 429)
    assert server[0].stored == []


async def test_a_delayed_request_arrives_late(proxy: FaultProxy) -> None:
    proxy.script.add(Rule(CREATES, Delay(0.3)))
    began = asyncio.get_running_loop().time()
    assert await create(proxy) == 201
    assert asyncio.get_running_loop().time() - began >= 0.3


@pytest.mark.parametrize(
    ("fault", "told"),
    [(Mute(), []), (Expire(), [410]), (Replay(back=1), [1, 2, 1, 3, 2]), (None, [1, 2, 3])],
    ids=str,
)
async def test_the_events_of_a_watch_are_told_as_the_script_says(
    proxy: FaultProxy, fault: Mute | Expire | Replay | None, told: list[object]
) -> None:
    if fault is not None:
        proxy.script.add(Rule(WATCHES, fault))
    assert await watch(proxy, most=len(told) or 1, seconds=1 if told else 0.4) == told


async def test_an_api_server_that_is_away_breaks_what_is_open_and_comes_back_on_its_port(
    proxy: FaultProxy,
) -> None:
    port = proxy.port
    open_watch = asyncio.create_task(watch(proxy, most=4, seconds=4))
    while not proxy.journal.entries or proxy.journal.entries[0].status is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await proxy.go_away()
    assert await create(proxy) is None
    with pytest.raises(aiohttp.ClientError):
        await open_watch
    await proxy.come_back()
    assert (await create(proxy), proxy.port) == (201, port)


async def test_an_api_server_that_is_away_serves_no_connection_that_a_client_has_kept(
    proxy: FaultProxy, server: tuple[Server, str]
) -> None:
    async with aiohttp.ClientSession() as session:

        async def post(name: str) -> None:
            async with session.post(f"{proxy.url}{THINGS}", json={"metadata": {"name": name}}) as answer:
                await answer.read()

        await post("a")
        await proxy.go_away()
        with pytest.raises(aiohttp.ClientError):
            await post("b")
    assert server[0].stored == ["a"]
