"""What the operator says of itself, and of what it looks after, at ``:9090/metrics``.

Labels are bounded: objects that exist, words of closed lists. No text of a user or of a remote answer
becomes a label. ``docs/reference-metrics.md`` lists everything that is made here.
"""

from __future__ import annotations

from collections.abc import Callable

from chaffinch.meters import Meters
from chaffinch.runtime.rollout_metrics import RolloutMetrics

_BASELINE = ("baseline_namespace", "baseline", "baseline_version")


class Metrics:
    """All metrics of the process."""

    def __init__(self) -> None:
        meters = Meters()
        self.registry = meters.registry
        self._passes = meters.counter("chaffinch_passes_total", "Passes of one object.", "kind", "outcome")
        self._pass_seconds = meters.seconds("chaffinch_pass_seconds", "How long a pass took.", "kind")
        self._requests = meters.counter(
            "chaffinch_kubernetes_requests_total",
            "Requests to the API server, by the status code of the answer; `none` without one.",
            "verb",
            "kind",
            "code",
        )
        self._request_seconds = meters.seconds(
            "chaffinch_kubernetes_request_seconds", "How long requests to the API server took.", "verb"
        )
        self._reads = meters.counter(
            "chaffinch_evidence_reads_total",
            "Readings of evidence from Prometheus: `Read`, or why it could not be used.",
            "result",
        )
        self._read_seconds = meters.seconds(
            "chaffinch_evidence_read_seconds", "How long reading evidence took."
        )
        self._commands = meters.counter(
            "chaffinch_commands_total", "Commands of people that were answered.", "action", "outcome"
        )
        self._record_failures = meters.counter(
            "chaffinch_record_failures_total",
            "Records of attempts that could not be kept up to date.",
        )
        self.rollouts = RolloutMetrics(meters)
        self.baseline_latency = meters.gauge(
            "chaffinch_baseline_latency_seconds",
            "Quantiles of the gate stage of a frozen baseline.",
            *(*_BASELINE, "metric", "quantile"),
        )
        self.baseline_errors = meters.gauge(
            "chaffinch_baseline_error_ratio",
            "Share of failed requests in the gate stage of a frozen baseline.",
            *_BASELINE,
        )
        self._lease_left = meters.gauge(
            "chaffinch_lease_seconds_left", "For how long this process leads; 0 when it does not."
        )
        self._lease_epoch = meters.gauge("chaffinch_lease_epoch", "Term of leadership; 0 without one.")
        self.descriptions = meters.descriptions

    def follow_lease(self, seconds_left: Callable[[], float], epoch: Callable[[], float]) -> None:
        """Publish the Lease; both functions are asked at each scrape."""
        self._lease_left.set_function(lambda: max(0.0, seconds_left()))
        self._lease_epoch.set_function(epoch)

    def request(self, verb: str, kind: str, code: str, seconds: float) -> None:
        """Count a request to the API server. Thread-safe."""
        self._requests.labels(verb, kind, code).inc()
        self._request_seconds.labels(verb).observe(seconds)

    def had_pass(self, kind: str, *, failed: bool, seconds: float) -> None:
        """Count a pass."""
        self._passes.labels(kind, "failed" if failed else "done").inc()
        self._pass_seconds.labels(kind).observe(seconds)

    def read_evidence(self, result: str, seconds: float) -> None:
        """Count a reading of evidence; the result is ``Read`` or a reason of the API."""
        self._reads.labels(result).inc()
        self._read_seconds.observe(seconds)

    def answered(self, action: str, outcome: str) -> None:
        """Count a command that was answered; the action is a word of the API, or ``unknown``."""
        self._commands.labels(action, outcome).inc()

    def record_failed(self) -> None:
        """Count a record that could not be kept up to date."""
        self._record_failures.inc()
