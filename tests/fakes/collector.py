"""An OpenTelemetry collector for tests: takes OTLP over HTTP and keeps the spans."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

ERROR = 2
"""The status code of a span that failed."""


@dataclass(frozen=True)
class ReceivedSpan:
    """One span."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    failed: bool
    seconds: float
    attributes: dict[str, str | int | bool | float]


@dataclass
class Collector:
    """What has arrived, and the status code with which it is answered."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    status: int = 200

    def spans(self) -> list[ReceivedSpan]:
        """Return all spans, in order of arrival."""
        return [span for body in self.bodies for span in _spans(body)]

    def resource(self) -> dict[str, str]:
        """Return what the sender says it is."""
        request = ExportTraceServiceRequest.FromString(self.bodies[0])
        return {each.key: each.value.string_value for each in request.resource_spans[0].resource.attributes}


def _spans(body: bytes) -> Iterator[ReceivedSpan]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    failed=span.status.code == ERROR,
                    seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                    attributes={
                        each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value")
                        for each in span.attributes
                    },
                )


@contextmanager
def collector(address: str = "127.0.0.1") -> Iterator[Collector]:
    """Run one on a free port of an address of this machine, by default of the loopback device."""
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            kept.paths.add(self.path)
            self.send_response(kept.status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
            """Say nothing."""

    server = ThreadingHTTPServer((address, 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    kept.url = f"http://{address}:{server.server_address[1]}"
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
