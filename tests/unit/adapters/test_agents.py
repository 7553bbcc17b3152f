from __future__ import annotations

import asyncio

import httpx
import pytest

from chaffinch.adapters.agents import AgentRouters
from chaffinch.adapters.pods import PodUnavailableError, pod_client, pod_url
from chaffinch.domain.observation import Acknowledgement

ADDRESSES = {"router-a": "10.0.0.1", "router-b": "10.0.0.2"}
GOOD = b'{"epoch": 3, "sequence": 7, "appliedAt": null, "weights": {"0a1b2c3d": 10000}, "endpoints": {}}'
WANT = Acknowledgement(epoch=3, sequence=7, weights={"0a1b2c3d": 10000})
TELLING = b'{"epoch": 3, "sequence": 7, "weights": {}, "open": {"0a1b2c3d": 2}}'
UNKNOWING = b'{"epoch": 3, "sequence": 7, "weights": {}, "open": null}'


def _answer(status: int, content: bytes) -> httpx.Response:
    return httpx.Response(status, stream=httpx.ByteStream(content))


def _ask(answer: httpx.Response | Exception) -> dict[str, Acknowledgement]:
    """Ask two routers, of which the first answers well and the second as told."""

    def respond(request: httpx.Request) -> httpx.Response:
        assert (request.method, request.url.port, request.url.path) == ("GET", 9090, "/state")
        if request.url.host == "10.0.0.1":
            return _answer(200, GOOD)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def story() -> dict[str, Acknowledgement]:
        async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as client:
            return dict(await AgentRouters(client).acknowledgements(ADDRESSES))

    return asyncio.run(story())


def test_every_router_that_answers_acknowledges() -> None:
    assert _ask(_answer(200, GOOD)) == {"router-a": WANT, "router-b": WANT}


@pytest.mark.parametrize(("content", "want"), [(TELLING, {"0a1b2c3d": 2}), (UNKNOWING, None), (GOOD, None)])
def test_a_router_says_what_it_has_under_way_if_it_can(content: bytes, want: dict[str, int] | None) -> None:
    assert _ask(_answer(200, content))["router-b"].open == want


@pytest.mark.parametrize(
    "answer",
    [
        _answer(500, GOOD),
        httpx.Response(302, headers={"Location": "http://10.9.9.9/"}, stream=httpx.ByteStream(b"")),
        _answer(200, b"{}"),
        _answer(200, b"not json"),
        _answer(200, b'{"epoch": 1.5, "sequence": 7, "weights": {}}'),
        _answer(200, b'{"epoch": true, "sequence": 7, "weights": {}}'),
        _answer(200, b'{"epoch": 1, "sequence": -1, "weights": {}}'),
        _answer(200, b'{"epoch": 1, "sequence": 7, "weights": {}, "open": {"0a1b2c3d": -1}}'),
        _answer(200, b" " * 70_000 + GOOD),
        httpx.ConnectTimeout("slow"),
        httpx.RemoteProtocolError("cut"),
    ],
)
def test_a_router_that_does_not_answer_properly_acknowledges_nothing(
    answer: httpx.Response | Exception,
) -> None:
    assert _ask(answer) == {"router-a": WANT}


def test_only_ip_addresses_are_asked() -> None:
    assert pod_url("10.0.0.1", "/state") == "http://10.0.0.1:9090/state"
    assert pod_url("fd00::1", "/state") == "http://[fd00::1]:9090/state"
    for address in ("", "metadata.internal", "10.0.0.1/x", "0x0a000001", "10.0.0.1:80"):
        with pytest.raises(PodUnavailableError):
            pod_url(address, "/state")


def test_the_client_follows_no_redirect_and_no_proxy() -> None:
    client = pod_client(timeout=3, connections=4)
    assert (client.follow_redirects, client.trust_env, client.timeout.read) == (False, False, 3)
    asyncio.run(client.aclose())
