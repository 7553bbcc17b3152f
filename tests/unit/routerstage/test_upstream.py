"""The stand-in for an engine closes connections when an engine would, and at no other time."""

from __future__ import annotations

import asyncio

from routerstage.upstream import upstream

IDLE_SECONDS = 0.05
REQUEST = b"POST /?do=plain HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))
    return head.partition(b"\r\n")[0]


async def test_a_connection_without_a_request_stays_open_and_an_idle_one_is_closed_after_its_answer() -> None:
    async with upstream(idle_seconds=IDLE_SECONDS) as engine, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", engine.port)
        await asyncio.sleep(4 * IDLE_SECONDS)
        writer.write(REQUEST)
        assert await _answer(reader) == b"HTTP/1.1 200 OK"
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_a_connection_is_kept_while_its_next_request_is_answered() -> None:
    slow = REQUEST.replace(b"do=plain", b"do=stream&more=0.2")
    async with upstream(idle_seconds=IDLE_SECONDS) as engine, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", engine.port)
        writer.write(REQUEST)
        assert await _answer(reader) == b"HTTP/1.1 200 OK"
        writer.write(slow)
        assert b"data: [DONE]" in await reader.read()
        assert engine.served == 2
        writer.close()
        await writer.wait_closed()
