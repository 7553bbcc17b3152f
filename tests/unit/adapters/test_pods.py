from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from chaffinch.adapters.pods import HttpPods, PodUnavailableError

MOST_BYTES = 1000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def pod(peer: Peer) -> AsyncIterator[int]:
    """Serve one connection after the other; yields the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await peer(reader, writer)
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def fetched(peer: Peer, path: str = "/state", timeout: float = 5) -> tuple[int, bytes]:
    async def story() -> tuple[int, bytes]:
        async with pod(peer) as port, HttpPods(timeout, connections=4, port=port) as pods:
            return await pods.fetch("GET", "127.0.0.1", path, most_bytes=MOST_BYTES)

    return asyncio.run(story())


def saying(*parts: bytes) -> Peer:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in parts:
            writer.write(part)
            await writer.drain()

    return peer


@pytest.mark.parametrize("status", [200, 204, 404, 503])
def test_status_and_body_come_as_they_are(status: int) -> None:
    body = b"" if status == 204 else b'{"a": 1}'
    head = b"HTTP/1.1 %d Word\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    assert fetched(saying(head, body)) == (status, body)


def test_what_is_asked_is_the_path_alone_without_anything_that_could_unfold() -> None:
    heard = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(HEAD % 0)

    assert fetched(peer) == (200, b"")
    line, *headers = heard[0].decode().lower().split("\r\n")
    assert line == "get /state http/1.1"
    assert "accept-encoding: identity" in headers


def test_nobody_is_led_to_another_address() -> None:
    asked = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split()[1])
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")

    assert fetched(peer) == (302, b"")
    assert asked == [b"/state"]


def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert fetched(saying(HEAD % 1, b"x")) == (200, b"x")


def test_a_body_that_is_compressed_is_not_unfolded() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n"
    assert fetched(saying(head, b"abc")) == (200, b"abc")


def test_an_answer_may_be_as_long_as_it_is_allowed_to_be() -> None:
    assert fetched(saying(HEAD % MOST_BYTES, b"x" * MOST_BYTES)) == (200, b"x" * MOST_BYTES)


async def _is_silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()


@pytest.mark.parametrize(
    "peer",
    [
        pytest.param(saying(), id="nothing"),
        pytest.param(saying(b"hello\r\n\r\n"), id="no HTTP"),
        pytest.param(saying(HEAD % 10, b"short"), id="cut"),
        pytest.param(saying(HEAD % (MOST_BYTES + 1), b"x" * (MOST_BYTES + 1)), id="too large"),
        pytest.param(
            saying(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 600, b"x" * 600), id="too large, of unknown length"
        ),
        pytest.param(_is_silent, id="silent"),
    ],
)
def test_a_pod_that_does_not_answer_properly_is_unavailable(peer: Peer) -> None:
    with pytest.raises(PodUnavailableError, match=r"^the pod"):
        fetched(peer, timeout=0.3)


def test_a_pod_that_is_not_there_is_unavailable() -> None:
    async def story() -> None:
        async with pod(saying()) as port:
            pass
        async with HttpPods(1, connections=4, port=port) as pods:
            await pods.fetch("GET", "127.0.0.1", "/state", most_bytes=1)

    with pytest.raises(PodUnavailableError, match="does not answer"):
        asyncio.run(story())


@pytest.mark.parametrize("address", ["", "metadata.internal", "10.0.0.1/x", "0x0a000001", "10.0.0.1:80"])
def test_only_ip_addresses_are_asked(address: str) -> None:
    async def story() -> None:
        async with HttpPods(1, connections=4) as pods:
            await pods.fetch("GET", address, "/state", most_bytes=1)

    with pytest.raises(PodUnavailableError, match="no IP address"):
        asyncio.run(story())


def test_a_pod_is_asked_by_an_address_of_either_kind() -> None:
    async def story() -> tuple[int, bytes]:
        async with (
            await asyncio.start_server(_answer, "::1", 0) as server,
            HttpPods(5, connections=4, port=server.sockets[0].getsockname()[1]) as pods,
        ):
            return await pods.fetch("GET", "::1", "/state", most_bytes=MOST_BYTES)

    async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(HEAD % 1, b"x")(reader, writer)
        writer.close()

    assert asyncio.run(story()) == (200, b"x")
