"""The HTTP surface: generation endpoints, the small ones around them, metrics, and the faults' switch."""

import time
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from simulator import exposition, wire
from simulator.backend import Backend, RefusedError
from simulator.chance import content_digest
from simulator.exposition import Counter, Registry
from simulator.faults import FaultError, changed
from simulator.protocol import (
    ApiError,
    Generation,
    count_tokens,
    error_object,
    parse_chat,
    parse_completion,
)
from simulator.replies import reset_connection, send_stream, send_whole
from simulator.settings import Settings
from simulator.wire import Reply

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_LONGEST_BODY = 64 * 2**20


class Server:
    """One simulated vLLM server without its process: an aiohttp application."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.registry = Registry()
        self.backend = Backend(settings, self.registry)
        self._served = 0
        self._started = int(time.time())
        self._http_requests: dict[tuple[str, str, str], Counter] = {}
        self._fingerprint = _fingerprint(settings)

    def application(self) -> web.Application:
        """The application with all its routes."""
        application = web.Application(client_max_size=_LONGEST_BODY, middlewares=[self._observe])
        chat = partial(self._generate, "chat.completion", "chatcmpl", parse_chat)
        completion = partial(self._generate, "text_completion", "cmpl", parse_completion)
        application.add_routes(
            [
                web.post("/v1/chat/completions", chat),
                web.post("/v1/completions", completion),
                web.get("/v1/models", self._models),
                web.post("/tokenize", self._tokenize),
                web.get("/health", self._health),
                web.get("/ping", self._health),
                web.get("/version", self._version),
                web.get("/metrics", self._metrics),
                web.get("/sim/faults", self._show_faults),
                web.post("/sim/faults", self._change_faults),
            ]
        )
        return application

    @web.middleware
    async def _observe(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turn API errors into replies and count what is answered, as vLLM's instrumentation does."""
        try:
            response = await handler(request)
        except ApiError as error:
            response = _json(error.body, error.status)
        except RefusedError:
            reset_connection(request)
            return web.Response()
        resource = request.match_info.route.resource
        handler_name = resource.canonical if resource else "none"
        self._count(handler_name, request.method, f"{response.status // 100}xx")
        return response

    def _count(self, handler: str, method: str, status: str) -> None:
        key = (handler, method, status)
        if key not in self._http_requests:
            self._http_requests[key] = self.registry.counter(
                "http_requests",
                "Total number of requests by method, status and handler.",
                handler=handler,
                method=method,
                status=status,
            )
        self._http_requests[key].add()

    async def _generate(
        self,
        kind: str,
        prefix: str,
        parse: Callable[[bytes], Generation],
        request: web.Request,
    ) -> web.StreamResponse:
        arrival = time.monotonic()
        generation = parse(await request.read())
        job = self.backend.start(generation, arrival)
        self._served += 1
        identity = f"{prefix}-{content_digest(generation.content).hex()[:24]}{self._served:08x}"
        model = self.settings.served_names[0]
        reply = Reply(kind, identity, int(time.time()), model, self._fingerprint)
        tell_cached = self.settings.prompt_tokens_details
        try:
            if not generation.stream:
                return await send_whole(request, job, reply, tell_cached=tell_cached)
            include_usage = generation.include_usage or self.settings.force_include_usage
            return await send_stream(
                request, job, reply, include_usage=include_usage, tell_cached=tell_cached
            )
        except ConnectionError:
            # The client left; vLLM logs nothing and counts nothing either.
            return web.Response()
        finally:
            job.end()

    async def _models(self, _request: web.Request) -> web.StreamResponse:
        cards = [
            {
                "id": name,
                "object": "model",
                "created": self._started,
                "owned_by": "vllm",
                "root": self.settings.model,
                "parent": None,
                "max_model_len": self.settings.capacity.max_model_len,
            }
            for name in self.settings.served_names
        ]
        return _json({"object": "list", "data": cards})

    async def _tokenize(self, request: web.Request) -> web.StreamResponse:
        count = count_tokens(await request.read())
        limit = self.settings.capacity.max_model_len
        return _json({"count": count, "max_model_len": limit, "tokens": list(range(count))})

    async def _health(self, _request: web.Request) -> web.StreamResponse:
        return web.Response()

    async def _version(self, _request: web.Request) -> web.StreamResponse:
        return _json({"version": self.settings.version})

    async def _metrics(self, _request: web.Request) -> web.StreamResponse:
        page = self.registry.render().encode()
        return web.Response(body=page, headers={"Content-Type": exposition.CONTENT_TYPE})

    async def _show_faults(self, _request: web.Request) -> web.StreamResponse:
        return _json(self.backend.faults.to_json(time.monotonic()))

    async def _change_faults(self, request: web.Request) -> web.StreamResponse:
        now = time.monotonic()
        try:
            self.backend.faults = changed(self.backend.faults, await request.read(), now)
        except FaultError as error:
            return _json(error_object(400, "BadRequestError", str(error)), 400)
        return _json(self.backend.faults.to_json(now))


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=wire.encode(value), status=status, content_type="application/json")


def _fingerprint(settings: Settings) -> str:
    """vLLM's default ``system_fingerprint``: version, parallelism where there is any, a short hash."""
    parallel = [
        f"-{name}{size}"
        for name, size in (
            ("tp", settings.tensor_parallel_size),
            ("dp", settings.data_parallel_size),
        )
        if size > 1
    ]
    digest = content_digest(settings.model.encode(), repr(settings.capacity).encode()).hex()[:8]
    return f"vllm-{settings.version}{''.join(parallel)}-{digest}"
