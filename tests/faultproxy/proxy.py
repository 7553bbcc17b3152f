"""The proxy itself: one port, one upstream, one journal, one script."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

from faultproxy import rules
from faultproxy.calls import Call, call_of
from faultproxy.journal import Entry, Journal
from faultproxy.rules import Fault, Script
from faultproxy.watches import copy_watch

_HOP_HEADERS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "authorization", "accept-encoding"}
)
_REPLY_HEADERS = ("Content-Type", "Retry-After", "Warning")
_LONGEST_LINE = 16 * 1024 * 1024
_LONGEST_BODY = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Upstream:
    """The API server, and whom the proxy stands for.

    Attributes:
        url: Its address, without a path.
        tls: Trusts its certificate; None for plain HTTP.
        headers: Added to each request: the client's credentials.
    """

    url: str
    tls: ssl.SSLContext | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class FaultProxy:
    """Passes requests on, except as its script says."""

    def __init__(self, upstream: Upstream) -> None:
        self.journal = Journal()
        self.script = Script()
        self.port = 0
        self._upstream = upstream
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self._connections: set[asyncio.Transport] = set()

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen on a free port of this machine."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._upstream.tls or False),
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=_LONGEST_LINE,
            auto_decompress=False,
        )
        app = web.Application(client_max_size=_LONGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await self.come_back()

    async def stop(self) -> None:
        """Stop listening and break what is open."""
        await self.go_away()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def go_away(self) -> None:
        """Be as an API server that is down: every connection breaks, and nobody listens."""
        assert self._runner is not None
        for site in tuple(self._runner.sites):
            await site.stop()
        assert self._runner.server is not None
        # A client keeps connections on which nothing is under way: they would still be served.
        for connection in self._runner.server.connections:
            if connection.transport is not None:
                connection.transport.abort()

    async def cut(self) -> None:
        """Break every connection on which something is under way, watches among them."""
        for transport in tuple(self._connections):
            transport.abort()

    async def come_back(self) -> None:
        """Listen again, on the same port."""
        assert self._runner is not None
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        assert isinstance(request.transport, asyncio.Transport)
        self._connections.add(request.transport)
        try:
            body = await request.read()
            call = call_of(request.method, request.path, request.query, request.content_type, body)
            entry = self.journal.note(call, request.headers.get("User-Agent", ""))
            fault = self.script.fault_for(call)
            entry.fault = "" if fault is None else type(fault).__name__
            return await self._meet(fault, request, body, entry)
        finally:
            self._connections.discard(request.transport)

    async def _meet(
        self, fault: Fault | None, request: web.Request, body: bytes, entry: Entry
    ) -> web.StreamResponse:
        match fault:
            case rules.CutBefore(then):
                return _cut(request, then)
            case rules.Answer(status, reason, retry_after):
                entry.status = status
                return _status(status, reason, retry_after)
            case rules.CutAfter(then):
                await self._answer(request, body, entry)
                return _cut(request, then)
            case rules.Delay(seconds):
                await asyncio.sleep(seconds)
            case _ if entry.call.verb == "watch":
                return await self._watch(request, entry, fault)
        if entry.call.verb == "watch":
            return await self._watch(request, entry, None)
        answer = await self._answer(request, body, entry)
        if isinstance(fault, rules.ReplyThen):
            await answer.prepare(request)
            await answer.write_eof()
            fault.then()
        return answer

    async def _answer(self, request: web.Request, body: bytes, entry: Entry) -> web.Response:
        """Pass a request on, and return the whole answer."""
        try:
            async with self._sent(request, body) as response:
                content = await response.read()
        except aiohttp.ClientError:
            return _status(502, "BadGateway", None)
        entry.status, entry.version = response.status, _version_in(entry.call, content)
        return web.Response(status=response.status, body=content, headers=_reply_headers(response))

    async def _watch(self, request: web.Request, entry: Entry, fault: Fault | None) -> web.StreamResponse:
        async with self._sent(request, b"") as response:
            entry.status = response.status
            stream = web.StreamResponse(status=response.status, headers=_reply_headers(response))
            await stream.prepare(request)
            with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                await copy_watch(request, response, stream, fault)
        return stream

    def _sent(
        self, request: web.Request, body: bytes
    ) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]:
        assert self._session is not None
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_HEADERS}
        return self._session.request(
            request.method,
            f"{self._upstream.url}{request.path_qs}",
            data=body or None,
            headers={**headers, **self._upstream.headers, "Accept-Encoding": "identity"},
            allow_redirects=False,
        )


def _cut(request: web.Request, then: Callable[[], None]) -> web.Response:
    then()
    if isinstance(request.transport, asyncio.Transport):
        request.transport.abort()
    return web.Response()  # goes nowhere


def _status(code: int, reason: str, retry_after: int | None) -> web.Response:
    content = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": "scripted by a test",
        "code": code,
    }
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return web.json_response(content, status=code, headers=headers)


def _reply_headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: response.headers[name] for name in _REPLY_HEADERS if name in response.headers}


def _version_in(call: Call, content: bytes) -> str:
    if not call.is_write:
        return ""
    try:
        return str(json.loads(content)["metadata"]["resourceVersion"])
    except (ValueError, KeyError, TypeError):
        return ""
