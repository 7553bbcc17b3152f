from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chaffinch.agent.kube import ApiServer, Collection, Object, Watcher
from routerstage.apiserver import FakeApiServer, listening
from routerstage.stage import until

PODS = Collection("/api/v1/namespaces/llm/configmaps", {"fieldSelector": "metadata.name=chat-router"})


@pytest.fixture
async def api() -> AsyncIterator[FakeApiServer]:
    async with listening(FakeApiServer()) as server:
        yield server


class View:
    """The newest view that a watcher has handed on."""

    def __init__(self) -> None:
        self.names: list[str] | None = None
        self.changes = 0

    def take(self, objects: tuple[Object, ...]) -> None:
        self.names = sorted(item["metadata"]["name"] for item in objects)
        self.changes += 1

    async def becomes(self, *names: str) -> None:
        async def holds() -> bool:
            return self.names == list(names)

        await until(holds, f"the view is {names}")


@contextlib.asynccontextmanager
async def watching(port: int, view: View, token: Path | None = None) -> AsyncIterator[Watcher]:
    server = ApiServer(f"http://127.0.0.1:{port}", token, None)
    watcher = Watcher(server, PODS, view.take, random.Random(1))
    task = asyncio.create_task(watcher.run())
    try:
        yield watcher
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_a_view_is_listed_and_then_kept_up_to_date(api: FakeApiServer) -> None:
    await api.put("configmaps", "a", {})
    view = View()
    async with watching(api.port, view):
        await view.becomes("a")
        await api.put("configmaps", "b", {})
        await view.becomes("a", "b")
        await api.delete("configmaps", "a")
        await view.becomes("b")
    assert api.lists["configmaps"] == 1
    assert {query["fieldSelector"] for query in api.queries} == {"metadata.name=chat-router"}


async def test_a_resource_version_that_is_too_old_leads_to_a_new_list(api: FakeApiServer) -> None:
    await api.put("configmaps", "a", {})
    view = View()
    async with watching(api.port, view) as watcher:
        await view.becomes("a")
        await api.compact()
        await api.put("configmaps", "b", {})
        await view.becomes("a", "b")
    assert api.lists["configmaps"] == 2
    assert watcher.errors == 0


@pytest.mark.parametrize("status", [401, 403, 429, 500])
async def test_a_refusing_server_is_asked_again_and_the_view_stays(api: FakeApiServer, status: int) -> None:
    await api.put("configmaps", "a", {})
    view = View()
    api.status = status
    async with watching(api.port, view) as watcher:

        async def failed_twice() -> bool:
            return watcher.errors >= 2

        await until(failed_twice, "two tries have failed")
        assert view.names is None
        api.status = 0
        await view.becomes("a")


async def test_a_server_that_goes_away_and_comes_back_is_caught_up_with() -> None:
    api, view = FakeApiServer(), View()
    async with contextlib.AsyncExitStack() as stack:
        async with listening(api):
            await api.put("configmaps", "a", {})
            watcher = await stack.enter_async_context(watching(api.port, view))
            await view.becomes("a")
        await api.put("configmaps", "b", {})

        async def noticed() -> bool:
            return watcher.errors > 0

        await until(noticed, "the loss is noticed")
        assert view.names == ["a"]
        async with listening(api):
            await view.becomes("a", "b")


async def test_the_token_is_read_anew_for_each_request(tmp_path: Path) -> None:
    token = tmp_path / "token"
    server = ApiServer("https://api", token, None)
    token.write_text("first\n")
    assert server.headers() == {"Authorization": "Bearer first"}
    token.write_text("second\n")
    assert server.headers() == {"Authorization": "Bearer second"}


@pytest.mark.parametrize(
    ("host", "url"), [("10.96.0.1", "https://10.96.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_the_api_server_is_found_from_the_environment(host: str, url: str) -> None:
    found = ApiServer.in_cluster({"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"})
    assert found.url == url
