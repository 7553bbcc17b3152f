"""Frozen baselines as metrics, so that a dashboard can draw what new versions are held to.

Only what verifies is exported: a baseline that was tampered with disappears from Prometheus.
"""

from __future__ import annotations

import math

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_baseline
from chaffinch.domain.baseline import gate_arm, verify
from chaffinch.ports.cluster import Manifest
from chaffinch.runtime.metrics import Metrics

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


class BaselineExport:
    """Keeps the gauges of all baselines up to date."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._published: dict[tuple[str, str], dict[str, str]] = {}

    def saw(self, body: Manifest, *, deleted: bool) -> None:
        """Take note of an event of a baseline."""
        namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
        self._withdraw(self._published.pop((namespace, name), None))
        try:
            spec = parse_baseline(body)
        except InvalidSpec:
            return
        if not deleted and verify(spec, name) is None:
            self._published[namespace, name] = self._publish(namespace, spec)

    def _withdraw(self, labels: dict[str, str] | None) -> None:
        if labels is None:
            return
        for gauge in (self._metrics.baseline_latency, self._metrics.baseline_errors):
            gauge.remove_by_labels(labels)

    def _publish(self, namespace: str, spec: InferenceBaselineSpec) -> dict[str, str]:
        arm = gate_arm(spec)
        identity = (namespace, spec.name, spec.version)
        if arm.requests:
            self._metrics.baseline_errors.labels(*identity).set(arm.errors / arm.requests)
        for metric, histogram in arm.latencies.items():
            for name, share in QUANTILES.items():
                seconds = histogram.quantile_seconds(share)
                if seconds is not None and math.isfinite(seconds):
                    self._metrics.baseline_latency.labels(*identity, metric, name).set(seconds)
        return dict(zip(("baseline_namespace", "baseline", "baseline_version"), identity, strict=True))
