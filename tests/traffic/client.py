"""Sends one request and reports what came back."""

import json
from collections.abc import Callable

import aiohttp

from traffic.events import EventReader
from traffic.outcome import Answer, Failure, Outcome, failure_of_status, is_error
from traffic.profile import PlannedRequest

REVISION_HEADER = "x-chaffinch-revision"


def open_session(timeout: float) -> aiohttp.ClientSession:
    """A session in which every request has a connection of its own.

    Users come from everywhere: a shared keep-alive connection would pin them to one router pod and would
    blame the service for the races of reuse.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=aiohttp.ClientTimeout(total=timeout),
        headers={"Content-Type": "application/json"},
    )


class Sender:
    """Sends planned requests to one endpoint; ``clock`` counts seconds since the start of the run."""

    def __init__(self, session: aiohttp.ClientSession, endpoint: str, clock: Callable[[], float]) -> None:
        self._session = session
        self._endpoint = endpoint
        self._clock = clock

    async def send(self, request: PlannedRequest) -> Outcome:
        """Send one request and wait for its end, good or bad; raises only when cancelled."""
        try:
            reply = await self._session.post(self._endpoint, data=request.body, allow_redirects=False)
        except TimeoutError:
            return Outcome(request.at, failure=Failure.TIMEOUT)
        except (aiohttp.ClientError, OSError):
            return Outcome(request.at, failure=Failure.REFUSED)
        async with reply:
            revision = reply.headers.get(REVISION_HEADER)
            failure = failure_of_status(reply.status)
            if failure is not None:
                return Outcome(request.at, revision, failure)
            if reply.content_type == "text/event-stream":
                return await self._read_stream(reply, request.at, revision)
            return Outcome(request.at, revision, await _failure_of_body(reply))

    async def _read_stream(self, reply: aiohttp.ClientResponse, at: float, revision: str | None) -> Outcome:
        reader, answer = EventReader(), Answer()
        ttft = e2e = None
        failure: Failure | None = None
        try:
            # To the very end, not to the last event: hanging up early would look like a client that left.
            async for piece in reply.content.iter_any():
                for event in reader.feed(piece):
                    answer.take(event)
                if ttft is None and answer.tokens:
                    ttft = self._clock() - at
                if e2e is None and answer.complete:
                    e2e = self._clock() - at
        except TimeoutError:
            failure = Failure.TIMEOUT
        except (aiohttp.ClientError, OSError):
            failure = None if answer.closed else Failure.CUT
        failure = failure or answer.failure()
        return Outcome(at, revision, failure, ttft, e2e if failure is None else None, answer.tokens)


async def _failure_of_body(reply: aiohttp.ClientResponse) -> Failure:
    """How a reply of status 200 failed that is no stream although a stream was asked for."""
    try:
        body = json.loads(await reply.read())
    except TimeoutError:
        return Failure.TIMEOUT
    except (aiohttp.ClientError, OSError):
        return Failure.CUT
    except ValueError:
        return Failure.OTHER
    return Failure.IN_BAND if is_error(body) else Failure.OTHER
