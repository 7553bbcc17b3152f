"""What is sent to an API server, and that it is sent once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import urllib3
from aiohttp import web

from chaffinch.adapters.apiserver import Answer, ApiServer, connect

TIMEOUTS = (2.0, 2.0)


@asynccontextmanager
async def _server(*answers: web.Response | None) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """Serve these answers in turn; None breaks the connection off."""
    requests: list[web.Request] = []
    left = list(answers)

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        requests.append(request)
        given = left.pop(0)
        if given is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return given

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/", requests
    finally:
        await runner.cleanup()


def _connected(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ApiServer:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "b4n4n4"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (folder / "kubeconfig").write_text(json.dumps(document))
    monkeypatch.setenv("KUBECONFIG", str(folder / "kubeconfig"))
    return connect(connections=1)


async def test_a_read_carries_the_token_of_the_kubeconfig_and_its_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _server(web.json_response({"items": []})) as (url, requests):
        server = _connected(url, tmp_path, monkeypatch)
        answer = await asyncio.to_thread(
            server.request, "GET", "/api/v1/pods", timeouts=TIMEOUTS, query={"labelSelector": "a=1,b=2"}
        )
    assert answer == Answer(200, b'{"items": []}')
    (request,) = requests
    assert (request.method, request.path, dict(request.query)) == (
        "GET",
        "/api/v1/pods",
        {"labelSelector": "a=1,b=2"},
    )
    assert request.headers["Authorization"] == "Bearer b4n4n4"
    assert (request.headers["User-Agent"], request.headers["Accept"]) == ("chaffinch", "application/json")
    assert "Content-Type" not in request.headers


async def test_a_write_sends_its_content_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = [{"op": "test", "path": "/metadata/uid", "value": "ü"}]
    async with _server(web.json_response({}, status=201)) as (url, requests):
        server = _connected(url, tmp_path, monkeypatch)
        answer = await asyncio.to_thread(
            server.request,
            "PATCH",
            "/status",
            timeouts=TIMEOUTS,
            body=body,
            content_type="application/json-patch+json",
        )
        sent = json.loads(await requests[0].text())
    assert (answer.status, sent) == (201, body)
    assert requests[0].headers["Content-Type"] == "application/json-patch+json"


@pytest.mark.parametrize("status", [307, 409, 429, 503])
async def test_an_answer_is_given_back_whatever_it_says_and_never_asked_for_again(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = {"Location": "/elsewhere", "Retry-After": "0"}
    async with _server(web.Response(status=status, text="no", headers=elsewhere)) as (url, requests):
        server = _connected(url, tmp_path, monkeypatch)
        answer = await asyncio.to_thread(server.request, "GET", "/", timeouts=TIMEOUTS)
    assert answer == Answer(status, b"no")
    assert len(requests) == 1


async def test_a_request_that_broke_off_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _server(None) as (url, requests):
        server = _connected(url, tmp_path, monkeypatch)
        with pytest.raises(urllib3.exceptions.HTTPError):
            await asyncio.to_thread(server.request, "POST", "/", timeouts=TIMEOUTS, body={})
    assert len(requests) == 1
