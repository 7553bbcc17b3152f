"""One streamed request over HTTP, with the time of every read.

aiohttp on uvloop, without a limit on connections: at a hundred streams a shared httpx client measures its own
connection pool instead of the server (its TTFT P95 was seconds where the truth was milliseconds). Connections
are kept, as a router keeps them, but for less time than servers keep theirs: one that the server closes just
as it is used again would be counted as a failure of the server.
"""

from __future__ import annotations

import asyncio
import json
import time
from types import TracebackType

import aiohttp

from chaffinch.probe.exchange import End, Exchange, Read

_MAX_BODY_BYTES = 32 * 1024 * 1024
_MAX_CONTROL_BYTES = 4096
_CONTROL_TIMEOUT_SECONDS = 5
_KEEP_ALIVE_SECONDS = 2  # uvicorn, which vLLM runs on, closes idle connections after 5


class Client:
    """Makes streamed requests; an async context manager that owns the connections."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None, sock_read=None),
            headers={"content-type": "application/json", "accept": "text/event-stream"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,  # a proxy from the environment must not stand between the clock and the server
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def exchange(self, url: str, body: bytes, *, tokens_asked: int, timeout_seconds: float) -> Exchange:
        """Send one request and read its response to the end; never raises for what the server does.

        Args:
            url: The completions address.
            body: The JSON body.
            tokens_asked: How many tokens the body asks for; kept with the exchange.
            timeout_seconds: Time from sending to the last byte.
        """
        response = _Response()
        sent = time.monotonic()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._read(url, body, response)
            end = End.COMPLETE
        except TimeoutError:
            end = End.TIMEOUT
        except aiohttp.ClientConnectorError:
            end = End.REFUSED
        except (aiohttp.ClientError, OSError):
            end = End.RESET if response.status is None else End.CUT
        return Exchange(
            sent=sent,
            ended=time.monotonic(),
            end=end,
            status=response.status,
            media_type=response.media_type,
            reads=tuple(response.reads),
            tokens_asked=tokens_asked,
        )

    async def engine_version(self, target: str) -> str | None:
        """Return what the engine says its version is; None if it does not say."""
        try:
            async with (
                asyncio.timeout(_CONTROL_TIMEOUT_SECONDS),
                self._session.get(f"{target}/version", allow_redirects=False) as response,
            ):
                answer = json.loads(await response.content.read(_MAX_CONTROL_BYTES))
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError):
            return None
        version = answer.get("version") if isinstance(answer, dict) else None
        return version[:128] if isinstance(version, str) and version.isprintable() and version else None

    async def _read(self, url: str, body: bytes, seen: _Response) -> None:
        async with self._session.post(url, data=body, allow_redirects=False) as response:
            seen.status = response.status
            seen.media_type = response.content_type.lower()
            size = 0
            async for data in response.content.iter_any():
                seen.reads.append(Read(time.monotonic(), data))
                size += len(data)
                if size > _MAX_BODY_BYTES:
                    raise aiohttp.ClientPayloadError("the response is larger than any completion")


class _Response:
    """What has come so far; outlives the exception that ends a request."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.media_type = ""
        self.reads: list[Read] = []
