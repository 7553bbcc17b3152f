"""A server of one scripted response, written byte by byte on a real socket of the loopback.

The probe's rules are about bytes, segments and lost connections, which no HTTP framework would let a
test say.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n"
)

Script = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[str]:
    """Serve every connection with ``script(request, writer)``; gives the address of the completions."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            await script(body, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1/chat/completions"
    finally:
        server.close()
        await server.wait_closed()


def segments(*parts: bytes, head: bytes = STREAM_HEAD, pause: float = 0.0) -> Script:
    """Return a script that sends a head and then each part as a TCP segment of its own."""

    async def script(_: bytes, writer: asyncio.StreamWriter) -> None:
        _no_delay(writer)
        writer.write(head)
        await writer.drain()
        for part in parts:
            await asyncio.sleep(pause)
            writer.write(part)
            await writer.drain()

    return script


def reset_after(*parts: bytes, head: bytes = STREAM_HEAD) -> Script:
    """Return a script that sends its parts and then resets the connection instead of closing it."""

    async def script(_: bytes, writer: asyncio.StreamWriter) -> None:
        _no_delay(writer)
        for part in (head, *parts):
            writer.write(part)
            await writer.drain()
        await asyncio.sleep(0.02)  # let the client read: a reset throws away what lies unread
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        writer.transport.abort()

    return script


def one_byte_each(body: bytes) -> Sequence[bytes]:
    """Cut a body into segments of one byte."""
    return [body[i : i + 1] for i in range(len(body))]


def _no_delay(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
