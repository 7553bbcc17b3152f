"""The API server, asked as the administrator and without blocking."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp

_LONGEST_EVENT = 4 * 1024 * 1024
_CLOSING_SECONDS = 0.25  # TLS connections end in the background, and nothing tells when they have


class Api:
    """A few requests.

    Args:
        url: The API server's address.
        tls: With the administrator's certificate; see :func:`administrator`.
    """

    def __init__(self, url: str, tls: ssl.SSLContext) -> None:
        self._url = url
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=tls, limit=32),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5),
            read_bufsize=_LONGEST_EVENT,
        )

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return the object at a path; None if there is none."""
        async with self._session.get(self._url + path) as answer:
            if answer.status == 404:
                return None
            answer.raise_for_status()
            return dict(await answer.json())

    async def merge(self, path: str, document: Mapping[str, Any]) -> None:
        """Change an object, or its status, if it is still there."""
        headers = {"Content-Type": "application/merge-patch+json"}
        async with self._session.patch(
            self._url + path, data=json.dumps(document), headers=headers
        ) as answer:
            if answer.status != 404:
                answer.raise_for_status()

    async def watch(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """Yield what is there, as if it had just been added, and then what happens; ends now and then."""
        async with self._session.get(f"{self._url}{path}&watch=true&timeoutSeconds=600") as answer:
            answer.raise_for_status()
            while line := await answer.content.readline():
                yield json.loads(line)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()
        await asyncio.sleep(_CLOSING_SECONDS)


def administrator(pki: Path) -> ssl.SSLContext:
    """Return the administrator's side of TLS, from the cluster's certificates."""
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    return context
