"""Asking pods over HTTP: bounded in time, in size and in number, and never led anywhere else.

Addresses come from the API server's pod status, the port is ours. Redirects and proxies are off, so a pod
cannot send the operator to another address, and an answer is read up to a limit only.

Every pass asks every router of its rollout, so this is a good part of what an operator of a thousand rollouts
does; aiohttp takes a third of the CPU that httpx takes for it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from types import TracebackType
from typing import Protocol, Self

import aiohttp

from chaffinch.adapters.plain_http import BodyTooLargeError, body_of, plain_session

AGENT_PORT = 9090
_LONGEST_SECONDS = 10.0  # for a whole answer, however slowly it drips


class PodUnavailableError(Exception):
    """A pod did not answer, or not properly. The text is ours."""


class Pods(Protocol):
    """Pods that can be asked."""

    async def fetch(self, method: str, address: str, path: str, *, most_bytes: int) -> tuple[int, bytes]:
        """Send a request and return status and body.

        Args:
            method: The HTTP method.
            address: The pod's IP address.
            path: The path, from the root.
            most_bytes: The largest body.

        Raises:
            PodUnavailableError: If the address is not an IP address, if there is no answer in time, or if it
                is larger.
        """
        ...


class HttpPods:
    """Implements :class:`Pods`; an asynchronous context manager, which closes the connections.

    Args:
        timeout: Longest wait for each step of a request, in seconds.
        connections: Requests at the same time.
        port: The port that all of them listen on.
    """

    def __init__(self, timeout: float, connections: int, port: int = AGENT_PORT) -> None:
        self._port = port
        # A connection each: a pod is asked once in seconds, and a router has few to give.
        self._session = plain_session(
            aiohttp.TCPConnector(limit=connections, force_close=True),
            aiohttp.ClientTimeout(sock_connect=timeout, sock_read=timeout),
        )

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self._session.close()

    async def fetch(self, method: str, address: str, path: str, *, most_bytes: int) -> tuple[int, bytes]:
        """Send a request and return status and body."""
        url = f"http://{_host(address)}:{self._port}{path}"
        try:
            async with (
                asyncio.timeout(_LONGEST_SECONDS),
                self._session.request(method, url, allow_redirects=False) as answer,
            ):
                return answer.status, await body_of(answer, most_bytes)
        except BodyTooLargeError:
            raise PodUnavailableError("the pod's answer is too large") from None
        except (aiohttp.ClientError, OSError):
            raise PodUnavailableError("the pod does not answer") from None


def _host(address: str) -> str:
    """Return an IP address as it stands in a URL.

    Raises:
        PodUnavailableError: If it is none.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        raise PodUnavailableError("the pod has no IP address") from None
    return f"[{ip}]" if ip.version == 6 else str(ip)
