"""Sends traces with OpenTelemetry, as OTLP over HTTP. Imported only where they are sent somewhere.

Everything else about the way is in the standard variables ``OTEL_*`` (headers, certificates, sampling, limits
of batches), which the SDK reads itself. Spans are sent by a thread of the SDK's own; a collector that is away
costs spans and one line of the log, and no pass waits for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextvars import Token

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from chaffinch.runtime.tracing import Attributes

log = logging.getLogger(__name__)

_LAST_SECONDS = 3.0
_SERVICE = "chaffinch-operator"


class _OpenSpan:
    """A span that is the open one of its task."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._token: Token[Context] = context.attach(trace.set_span_in_context(span))
        self.trace_id = trace.format_trace_id(span.get_span_context().trace_id)

    def end(self, attributes: Attributes, *, failed: bool = False) -> None:
        """End it; its parent is the open one again."""
        context.detach(self._token)
        self._span.set_attributes(dict(attributes))
        if failed:
            self._span.set_status(trace.StatusCode.ERROR)
        self._span.end()


class _ToldOnce(SpanExporter):
    """Sends spans, and says once that it fails and once that it does not any more."""

    def __init__(self, sender: SpanExporter) -> None:
        self._sender = sender
        self._fails = False
        # The SDK would say it in every batch, with the addresses of whatever it meets.
        logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch."""
        result = self._sender.export(spans)
        fails = result is not SpanExportResult.SUCCESS
        if fails and not self._fails:
            log.warning(
                "traces cannot be sent: check OTEL_EXPORTER_OTLP_ENDPOINT (chart value tracing.endpoint)"
            )
        elif self._fails and not fails:
            log.info("traces are sent again")
        self._fails = fails
        return result

    def shutdown(self) -> None:
        """Send no more."""
        self._sender.shutdown()


class OtlpTracer:
    """Implements :class:`chaffinch.runtime.tracing.Tracer`.

    Args:
        resource: What this process is, beside its name: names of the namespace and of the instance.
    """

    def __init__(self, resource: Mapping[str, str]) -> None:
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": _SERVICE, **resource}), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(_ToldOnce(OTLPSpanExporter())))
        self._tracer = self._provider.get_tracer("chaffinch")

    def begin(self, name: str, attributes: Attributes) -> _OpenSpan:
        """Begin a span below the open one."""
        return _OpenSpan(self._tracer.start_span(name, attributes=dict(attributes)))

    def past(self, name: str, attributes: Attributes, seconds: float, *, failed: bool) -> None:
        """Add what has just ended below the open span."""
        if not trace.get_current_span().get_span_context().is_valid:
            return
        now = time.time_ns()
        span = self._tracer.start_span(
            name,
            attributes=dict(attributes),
            kind=trace.SpanKind.CLIENT,
            start_time=now - int(seconds * 1e9),
        )
        if failed:
            span.set_status(trace.StatusCode.ERROR)
        span.end(now)

    def close(self) -> None:
        """Send what is left; a collector that does not answer is not waited for."""
        last = threading.Thread(target=self._provider.shutdown, daemon=True)
        last.start()
        last.join(_LAST_SECONDS)
