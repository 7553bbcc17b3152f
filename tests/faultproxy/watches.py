"""How the events of a watch are passed on: as they are, not at all, again, or cut short by an error."""

from __future__ import annotations

import asyncio
import json
from collections import deque

import aiohttp
from aiohttp import web

from faultproxy.rules import Expire, Fault, Mute, Replay

_LOOK_SECONDS = 0.1

_TOO_OLD = {
    "type": "ERROR",
    "object": {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "Expired",
        "message": "too old resource version",
        "code": 410,
    },
}


async def copy_watch(
    request: web.Request,
    response: aiohttp.ClientResponse,
    stream: web.StreamResponse,
    fault: Fault | None,
) -> None:
    """Pass the events of a watch on until either side ends it."""
    if isinstance(fault, Mute):
        await _gone(request)
        return
    if isinstance(fault, Expire):
        await stream.write(json.dumps(_TOO_OLD).encode() + b"\n")
        return
    leaving = asyncio.create_task(_gone(request))
    copying = asyncio.create_task(_copy(response, stream, fault.back if isinstance(fault, Replay) else 0))
    await asyncio.wait({leaving, copying}, return_when=asyncio.FIRST_COMPLETED)
    for task in (leaving, copying):
        task.cancel()
    await asyncio.gather(leaving, copying, return_exceptions=True)


async def _copy(response: aiohttp.ClientResponse, stream: web.StreamResponse, back: int) -> None:
    told: deque[bytes] = deque(maxlen=back)
    while line := await response.content.readline():
        await stream.write(line + b"".join(told))
        told.append(line)


async def _gone(request: web.Request) -> None:
    """Wait until the client has left; nobody tells, so its connection is looked at."""
    while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110
        await asyncio.sleep(_LOOK_SECONDS)
