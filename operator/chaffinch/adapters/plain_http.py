"""HTTP that is led nowhere else: for asking what may be answered by anything.

No proxies from the environment and no cookies. No compression: the size of an answer is then what arrives,
and nothing can unfold in memory. Redirects are refused where a request is sent: aiohttp has no switch for a
session.
"""

from __future__ import annotations

import aiohttp


class BodyTooLargeError(Exception):
    """A body is larger than it may be."""


def plain_session(
    connector: aiohttp.TCPConnector, timeout: aiohttp.ClientTimeout, accept: str = "*/*"
) -> aiohttp.ClientSession:
    """Return a session; a request of it has to be sent with ``allow_redirects=False``.

    Args:
        connector: How many connections there may be, and how long they are kept.
        timeout: What may take how long.
        accept: The media type that is asked for.
    """
    return aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept": accept, "Accept-Encoding": "identity"},
        auto_decompress=False,
        trust_env=False,
    )


async def body_of(answer: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    """Read a body as it comes, up to a limit.

    Raises:
        BodyTooLargeError: If it is larger; nothing more of it is read.
    """
    body = bytearray()
    async for part in answer.content.iter_any():
        body += part
        if len(body) > most_bytes:
            raise BodyTooLargeError
    return bytes(body)
