"""Asking pods over HTTP: bounded in time, in size and in number, and never led anywhere else.

Addresses come from the API server's pod status, the port is ours. Redirects and proxies are off, so a pod
cannot send the operator to another address, and an answer is read up to a limit only.
"""

from __future__ import annotations

import asyncio
import ipaddress

import httpx

AGENT_PORT = 9090
_LONGEST_SECONDS = 10.0  # for a whole answer, however slowly it drips


class PodUnavailableError(Exception):
    """A pod did not answer, or not properly. The text is ours."""


def pod_client(timeout: float, connections: int) -> httpx.AsyncClient:
    """Return a client for pods.

    Args:
        timeout: Longest wait for each step of a request, in seconds.
        connections: Requests at the same time.
    """
    return httpx.AsyncClient(
        timeout=timeout,
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=0),
        follow_redirects=False,
        trust_env=False,
    )


def pod_url(address: str, path: str) -> str:
    """Return the URL of a path at a pod's address.

    Raises:
        PodUnavailableError: If the address is not an IP address.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        raise PodUnavailableError("the pod has no IP address") from None
    return f"http://[{ip}]:{AGENT_PORT}{path}" if ip.version == 6 else f"http://{ip}:{AGENT_PORT}{path}"


async def fetch(client: httpx.AsyncClient, method: str, url: str, *, most_bytes: int) -> tuple[int, bytes]:
    """Send a request and return status and body.

    Raises:
        PodUnavailableError: If there is no answer in time, or it is larger than ``most_bytes``.
    """
    try:
        async with (
            asyncio.timeout(_LONGEST_SECONDS),
            client.stream(method, url, headers={"Accept-Encoding": "identity"}) as answer,
        ):
            body = bytearray()
            async for part in answer.aiter_raw():
                body += part
                if len(body) > most_bytes:
                    raise PodUnavailableError("the pod's answer is too large")
            return answer.status_code, bytes(body)
    except (httpx.HTTPError, OSError):
        raise PodUnavailableError("the pod does not answer") from None
