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
        registry = self.registry
        self._passes = Counter(
            "chaffinch_passes", "Looks at one object.", ("kind", "outcome"), registry=registry
        )
        self._pass_seconds = Histogram(
            "chaffinch_pass_seconds", "How long a look took.", ("kind",), buckets=_SECONDS, registry=registry
        )
        self._requests = Counter(
            "chaffinch_kubernetes_requests",
            "Requests to the API server.",
            ("verb", "kind", "code"),
            registry=registry,
        )
        self._request_seconds = Histogram(
            "chaffinch_kubernetes_request_seconds",
            "How long they took.",
            ("verb",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._phase = Gauge(
            "chaffinch_rollout_phase",
            "1 for the phase of a rollout.",
            (*_ROLLOUT, "phase"),
            registry=registry,
        )
        self._stage = Gauge(
            "chaffinch_rollout_stage",
            "1 for the stage of a rollout.",
            (*_ROLLOUT, "stage"),
            registry=registry,
        )
        self._weight = Gauge(
            "chaffinch_rollout_canary_weight_ratio",
            "Share of the traffic that the canary shall get.",
            _ROLLOUT,
            registry=registry,
        )
        self._objective = Gauge(
            "chaffinch_objective_value",
            "Newest value of an objective: seconds of a latency, a share of an error rate.",
            (*_ROLLOUT, "objective", "arm"),
            registry=registry,
        )
        self.baseline_latency = Gauge(
            "chaffinch_baseline_latency_seconds",
            "Quantiles of the gate stage of a frozen baseline.",
            ("baseline_namespace", "baseline", "baseline_version", "metric", "quantile"),
            registry=registry,
        )
        self.baseline_errors = Gauge(
            "chaffinch_baseline_error_ratio",
            "Share of failed requests in the gate stage of a frozen baseline.",
            ("baseline_namespace", "baseline", "baseline_version"),
            registry=registry,
        )
        self._lease_left = Gauge(
            "chaffinch_lease_seconds_left", "For how long this process leads.", registry=registry
        )
        self._lease_epoch = Gauge(
            "chaffinch_lease_epoch", "Term of leadership; 0 without one.", registry=registry
        )

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
