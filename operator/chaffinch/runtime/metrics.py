"""What the operator says of itself, and of what it looks after, at ``:9090/metrics``.

Labels are bounded: objects that exist, words of closed lists. No text of a user or of a remote answer
becomes a label.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)
_ROLLOUT = ("rollout_namespace", "rollout")
_BASELINE = ("baseline_namespace", "baseline", "baseline_version")


@dataclass(frozen=True, slots=True)
class ObjectiveFigure:
    """The newest figures of one objective: seconds of a latency, a share of an error rate, or unknown."""

    objective: str
    value: float | None
    control: float | None


@dataclass(frozen=True, slots=True)
class RolloutFigures:
    """What is published of a rollout.

    Attributes:
        phase: Its phase; empty if it has none yet.
        stage: Its stage.
        weight: The canary's share of the traffic, 0 to 1.
        objectives: The newest figures; none leaves the ones before.
    """

    phase: str
    stage: str
    weight: float
    objectives: tuple[ObjectiveFigure, ...] = ()


class Metrics:
    """All metrics of the process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._passes = Counter(
            "chaffinch_passes", "Looks at one object.", ("kind", "outcome"), registry=self.registry
        )
        self._requests = Counter(
            "chaffinch_kubernetes_requests",
            "Requests to the API server.",
            ("verb", "kind", "code"),
            registry=self.registry,
        )
        self._pass_seconds = self._seconds("chaffinch_pass_seconds", "How long a look took.", "kind")
        self._request_seconds = self._seconds(
            "chaffinch_kubernetes_request_seconds", "How long requests to the API server took.", "verb"
        )
        self._commands = Counter(
            "chaffinch_commands",
            "Commands of people that were answered.",
            ("action", "outcome"),
            registry=self.registry,
        )
        self._record_failures = Counter(
            "chaffinch_record_failures",
            "Attempts to keep the record of a rollout's attempt that failed.",
            registry=self.registry,
        )
        self._phase = self._gauge("chaffinch_rollout_phase", "1 for its phase.", *_ROLLOUT, "phase")
        self._stage = self._gauge("chaffinch_rollout_stage", "1 for its stage.", *_ROLLOUT, "stage")
        self._weight = self._gauge(
            "chaffinch_rollout_canary_weight_ratio", "Share of the traffic for the canary.", *_ROLLOUT
        )
        self._objective = self._gauge(
            "chaffinch_objective_value",
            "Newest value: seconds of a latency, a share of an error rate.",
            *(*_ROLLOUT, "objective", "arm"),
        )
        self.baseline_latency = self._gauge(
            "chaffinch_baseline_latency_seconds",
            "Quantiles of the gate stage of a frozen baseline.",
            *(*_BASELINE, "metric", "quantile"),
        )
        self.baseline_errors = self._gauge(
            "chaffinch_baseline_error_ratio",
            "Share of failed requests in the gate stage of a frozen baseline.",
            *_BASELINE,
        )
        self._lease_left = self._gauge("chaffinch_lease_seconds_left", "For how long this process leads.")
        self._lease_epoch = self._gauge("chaffinch_lease_epoch", "Term of leadership; 0 without one.")

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(name, meaning, labels, registry=self.registry)

    def _seconds(self, name: str, meaning: str, label: str) -> Histogram:
        return Histogram(name, meaning, (label,), buckets=_SECONDS, registry=self.registry)

    def follow_lease(self, seconds_left: Callable[[], float], epoch: Callable[[], float]) -> None:
        """Publish the Lease; both functions are asked at each scrape."""
        self._lease_left.set_function(lambda: max(0.0, seconds_left()))
        self._lease_epoch.set_function(epoch)

    def request(self, verb: str, kind: str, code: str, seconds: float) -> None:
        """Count a request to the API server. Thread-safe."""
        self._requests.labels(verb, kind, code).inc()
        self._request_seconds.labels(verb).observe(seconds)

    def looked(self, kind: str, *, failed: bool, seconds: float) -> None:
        """Count a pass."""
        self._passes.labels(kind, "failed" if failed else "done").inc()
        self._pass_seconds.labels(kind).observe(seconds)

    def answered(self, action: str, outcome: str) -> None:
        """Count a command that was answered; the action is a word of the API, or ``unknown``."""
        self._commands.labels(action, outcome).inc()

    def record_failed(self) -> None:
        """Count a record that could not be kept up to date."""
        self._record_failures.inc()

    def rollout(self, namespace: str, name: str, figures: RolloutFigures) -> None:
        """Publish where a rollout is: one phase, one stage, its weight and figures."""
        for gauge, word in ((self._phase, figures.phase), (self._stage, figures.stage)):
            gauge.remove_by_labels({"rollout_namespace": namespace, "rollout": name})
            gauge.labels(namespace, name, word).set(1)
        self._weight.labels(namespace, name).set(figures.weight)
        for figure in figures.objectives:
            for arm, value in (("candidate", figure.value), ("control", figure.control)):
                shown = math.nan if value is None else value
                self._objective.labels(namespace, name, figure.objective, arm).set(shown)

    def forget_rollout(self, namespace: str, name: str) -> None:
        """Withdraw everything that was published of a rollout."""
        for gauge in (self._phase, self._stage, self._weight, self._objective):
            gauge.remove_by_labels({"rollout_namespace": namespace, "rollout": name})
