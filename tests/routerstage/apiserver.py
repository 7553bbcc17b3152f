"""A stand-in for the API server: lists and watches two collections, and can fail in the known ways."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(slots=True)
class FakeApiServer:
    """Objects by collection and name, with the history that watches are served from.

    Attributes:
        port: Where it listens.
        lists: How often each collection has been listed.
        status: What every request is answered with instead, if not 0.
    """

    port: int = 0
    lists: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    queries: list[dict[str, str]] = field(default_factory=list)
    status: int = 0
    _version: int = 100
    _oldest: int = 100
    _objects: dict[str, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    _history: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def put(self, collection: str, name: str, content: dict[str, Any]) -> None:
        """Create or replace an object."""
        kind = "MODIFIED" if name in self._objects[collection] else "ADDED"
        self._version += 1
        metadata = {**content.get("metadata", {}), "name": name, "resourceVersion": str(self._version)}
        item = {**content, "metadata": metadata}
        self._objects[collection][name] = item
        await self._publish(collection, {"type": kind, "object": item})

    async def delete(self, collection: str, name: str) -> None:
        """Delete an object."""
        self._version += 1
        item = self._objects[collection].pop(name)
        metadata = {**item["metadata"], "resourceVersion": str(self._version)}
        await self._publish(collection, {"type": "DELETED", "object": {**item, "metadata": metadata}})

    async def compact(self) -> None:
        """Forget the history and end the watches: their resource versions are too old from now on."""
        self._version += 1
        self._oldest = self._version
        async with self._changed:
            self._changed.notify_all()

    async def _publish(self, collection: str, event: dict[str, Any]) -> None:
        async with self._changed:
            self._history.append((self._version, collection, event))
            self._changed.notify_all()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Serve a list or a watch."""
        self.queries.append(dict(request.query))
        if self.status:
            return web.Response(status=self.status)
        collection = request.path.rpartition("/")[2]
        if request.query.get("watch") == "true":
            return await self._watch(request, collection)
        self.lists[collection] += 1
        items = list(self._objects[collection].values())
        return web.json_response({"metadata": {"resourceVersion": str(self._version)}, "items": items})

    async def _watch(self, request: web.Request, collection: str) -> web.StreamResponse:
        seen = int(request.query["resourceVersion"])
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            async with self._changed:
                if seen < self._oldest:
                    await _send(response, {"type": "ERROR", "object": {"code": 410, "metadata": {}}})
                    return response
                news = [entry for entry in self._history if entry[0] > seen]
                if not news:
                    await self._changed.wait()
                    continue
            for version, name, event in news:
                seen = version
                if name == collection:
                    await _send(response, event)


async def _send(response: web.StreamResponse, event: dict[str, Any]) -> None:
    await response.write(json.dumps(event).encode() + b"\n")


@contextlib.asynccontextmanager
async def listening(server: FakeApiServer) -> AsyncIterator[FakeApiServer]:
    """Run it on loopback; again on the same port if it has had one."""
    app = web.Application()
    app.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", server.port, reuse_address=True)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()
