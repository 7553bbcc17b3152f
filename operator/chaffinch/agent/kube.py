"""A small list-and-watch client of the Kubernetes API: all that the agent needs of it.

An official client would be larger than the rest of the agent. What matters here is what happens
when things go wrong: the last view stays in force while the API server is away, a resource version
that is too old leads to a new list, and a watch that has gone silent ends by itself.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

Object = Mapping[str, Any]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_WATCH_SECONDS = 30
_LIST_TIMEOUT = aiohttp.ClientTimeout(total=15)
_WATCH_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=_WATCH_SECONDS + 10)
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 10.0

log = logging.getLogger(__name__)


class ApiError(Exception):
    """The API server did not answer as it should. The text never holds what it said."""


class ViewTooOldError(ApiError):
    """The resource version has been compacted away: everything must be listed again."""


@dataclass(frozen=True, slots=True)
class ApiServer:
    """How to reach the API server.

    Attributes:
        url: Its base URL.
        token: The file of the bearer token, read for each request because it is renewed; None for none.
        authority: The file of the certificate authority; None for plain HTTP.
    """

    url: str
    token: Path | None
    authority: Path | None

    @classmethod
    def in_cluster(cls, environment: Mapping[str, str]) -> ApiServer:
        """Return the API server that a pod is told of."""
        host, port = environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]
        bracketed = f"[{host}]" if ":" in host else host
        return cls(f"https://{bracketed}:{port}", SERVICE_ACCOUNT / "token", SERVICE_ACCOUNT / "ca.crt")

    def headers(self) -> dict[str, str]:
        """Return the headers of a request that is about to be sent."""
        return {} if self.token is None else {"Authorization": f"Bearer {self.token.read_text().strip()}"}

    def session(self) -> aiohttp.ClientSession:
        """Return a new session that trusts the cluster's certificate authority."""
        context = None if self.authority is None else ssl.create_default_context(cafile=str(self.authority))
        connector = aiohttp.TCPConnector(ssl=context if context is not None else True)
        return aiohttp.ClientSession(base_url=self.url, connector=connector)


@dataclass(frozen=True, slots=True)
class Collection:
    """What is watched: one resource in one namespace, narrowed by selectors."""

    path: str
    selectors: Mapping[str, str]


class Watcher:
    """Keeps a view of a collection up to date and hands each new view on.

    Args:
        server: The API server.
        collection: What to watch.
        changed: Called with all objects, after each list and each change.
        jitter: Spreads the pauses after failures.
    """

    def __init__(
        self,
        server: ApiServer,
        collection: Collection,
        changed: Callable[[tuple[Object, ...]], None],
        jitter: random.Random,
    ) -> None:
        self._server = server
        self._collection = collection
        self._changed = changed
        self._jitter = jitter
        self._objects: dict[str, Object] = {}
        self._version: str | None = None
        self._failures = 0
        self.errors = 0

    async def run(self) -> None:
        """Watch until cancelled; failures are counted and retried after a growing pause."""
        async with self._server.session() as session:
            while True:
                try:
                    await self._once(session)
                    self._failures = 0
                    await asyncio.sleep(_FIRST_PAUSE)
                except ViewTooOldError:
                    self._version = None
                except (ApiError, aiohttp.ClientError, TimeoutError, OSError) as error:
                    await self._pause(error)

    async def _once(self, session: aiohttp.ClientSession) -> None:
        if self._version is None:
            await self._list(session)
        async for event in self._events(session):
            self._take(event)

    async def _pause(self, error: Exception) -> None:
        self.errors += 1
        self._failures += 1
        ceiling = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._failures - 1, 10))
        pause = self._jitter.uniform(ceiling / 2, ceiling)
        # The kind of error is ours or the library's; its text could hold what the server sent.
        log.warning(
            "watching %s failed (%s); next try in %.1f s", self._collection.path, type(error).__name__, pause
        )
        await asyncio.sleep(pause)

    async def _list(self, session: aiohttp.ClientSession) -> None:
        parameters = {**self._collection.selectors}
        async with session.get(
            self._collection.path, params=parameters, headers=self._server.headers(), timeout=_LIST_TIMEOUT
        ) as answer:
            _check(answer.status)
            body = _parse(await answer.read())
        self._objects = {_name(item): item for item in body.get("items") or ()}
        self._version = _version(body)
        self._failures = 0
        self._changed(tuple(self._objects.values()))

    async def _events(self, session: aiohttp.ClientSession) -> AsyncIterator[Object]:
        parameters = {
            **self._collection.selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
            "resourceVersion": self._version or "",
        }
        async with session.get(
            self._collection.path, params=parameters, headers=self._server.headers(), timeout=_WATCH_TIMEOUT
        ) as answer:
            _check(answer.status)
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield _parse(line)

    def _take(self, event: Object) -> None:
        kind, item = event.get("type"), event.get("object") or {}
        if kind == "ERROR":
            raise ViewTooOldError if item.get("code") == 410 else ApiError("the watch ended with an error")
        if kind == "DELETED":
            self._objects.pop(_name(item), None)
        elif kind in {"ADDED", "MODIFIED"}:
            self._objects[_name(item)] = item
        elif kind != "BOOKMARK":
            raise ApiError("the watch sent an unknown kind of event")
        self._version = _version(item)
        if kind != "BOOKMARK":
            self._changed(tuple(self._objects.values()))


def _check(status: int) -> None:
    if status == 410:
        raise ViewTooOldError("the resource version is too old")
    if status != 200:
        raise ApiError(f"the API server answered {status}")


def _parse(data: bytes) -> Object:
    try:
        value = json.loads(data)
    except ValueError:
        raise ApiError("the API server sent no JSON") from None
    if not isinstance(value, dict):
        raise ApiError("the API server sent no object")
    return value


def _name(item: Object) -> str:
    return str((item.get("metadata") or {}).get("name", ""))


def _version(item: Object) -> str:
    version = (item.get("metadata") or {}).get("resourceVersion")
    if not isinstance(version, str) or not version:
        raise ApiError("the API server sent an object without a resource version")
    return version
