"""Sends what a job generates, and breaks replies off where a fault says so."""

import socket
import struct

from aiohttp import web

from simulator import wire
from simulator.backend import IN_BAND_ERROR, Job
from simulator.faults import ErrorKind
from simulator.wire import Reply

_STREAM_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8"}
# On, for zero seconds: closing sends a reset and drops what was not sent yet.
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def reset_connection(request: web.Request) -> None:
    """Close a request's connection with a TCP reset."""
    transport = request.transport
    if transport is None:
        return
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    transport.abort()


async def send_stream(
    request: web.Request, job: Job, reply: Reply, *, include_usage: bool, tell_cached: bool
) -> web.StreamResponse:
    """Send an answer token by token, each with the iteration that made it."""
    response = web.StreamResponse(headers=_STREAM_HEADERS)
    # Like vLLM, the headers leave at once: a client's first byte is no first token.
    await response.prepare(request)
    sequence, stop_at = job.sequence, job.breaks_after
    while not sequence.finished or job.stream.pending:
        positions = await job.stream.take()
        if stop_at is not None and positions.stop >= stop_at:
            positions = range(positions.start, stop_at)
            await response.write(_frames(job, reply, positions, include_usage=include_usage))
            return await _break_stream(request, response, job)
        await response.write(_frames(job, reply, positions, include_usage=include_usage))
    tail = wire.DONE
    if include_usage:
        tail = reply.counts(usage_of(job, tell_cached=tell_cached)) + tail
    await response.write(tail)
    await response.write_eof()
    return response


async def send_whole(
    request: web.Request, job: Job, reply: Reply, *, tell_cached: bool
) -> web.StreamResponse:
    """Send an answer in one piece once it is complete."""
    sequence = job.sequence
    until = sequence.output_tokens if job.breaks_after is None else job.breaks_after
    while sequence.generated < until:
        await job.stream.take()
    if job.breaks is ErrorKind.IN_BAND:
        job.end("error")
        return web.Response(body=wire.encode(IN_BAND_ERROR), content_type="application/json")
    text = job.answer.text(sequence.output_tokens)
    body = reply.body(text, sequence.finish_reason, usage_of(job, tell_cached=tell_cached))
    if job.breaks is ErrorKind.CUT:
        return await _send_half(request, body)
    return web.Response(body=body, content_type="application/json")


def usage_of(job: Job, *, tell_cached: bool) -> dict[str, object]:
    """The token counts of a job."""
    sequence = job.sequence
    cached = sequence.cached_tokens if tell_cached else None
    return wire.usage(sequence.prompt_tokens, sequence.output_tokens, cached)


def _frames(job: Job, reply: Reply, positions: range, *, include_usage: bool) -> bytes:
    frames = [reply.head()] if positions.start == 0 else []
    last = job.sequence.output_tokens - 1
    for position in positions:
        word = job.answer.index(position)
        if position < last:
            frames.append(reply.token(word))
        else:
            reason = job.sequence.finish_reason
            frames.append(reply.last(word, reason, final_message=not include_usage))
    return b"".join(frames)


async def _break_stream(request: web.Request, response: web.StreamResponse, job: Job) -> web.StreamResponse:
    if job.breaks is ErrorKind.CUT:
        reset_connection(request)
        return response
    job.end("error")
    await response.write(wire.event(IN_BAND_ERROR) + wire.DONE)
    await response.write_eof()
    return response


async def _send_half(request: web.Request, body: bytes) -> web.StreamResponse:
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    reset_connection(request)
    return response
