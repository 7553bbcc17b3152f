"""How far a run is, for people and for Prometheus, while it runs."""

from __future__ import annotations

from chaffinch.meters import Meters
from chaffinch.probe.outcome import Outcome

WARM_UP = "warm-up"
STARTING = "starting"


class Watch:
    """The progress of one run, and its metrics in a registry of its own."""

    def __init__(self) -> None:
        meters = Meters()
        self.registry = meters.registry
        self._stage = STARTING
        self._done = 0
        self._requests = meters.counter(
            "chaffinch_probe_requests_total", "Requests that ended.", "stage", "outcome"
        )
        self._open = meters.gauge("chaffinch_probe_open_requests", "Requests that are open.")
        self._finished = meters.gauge("chaffinch_probe_finished", "1 once the result is there.")
        self.descriptions = meters.descriptions

    def enter(self, stage: str) -> None:
        """Note that a stage begins."""
        self._stage, self._done = stage, 0

    def count(self, stage: str, outcome: Outcome) -> None:
        """Note that a request ended."""
        self._requests.labels(stage=stage, outcome=outcome.value).inc()
        if stage == self._stage:
            self._done += 1

    def open_requests(self, count: int) -> None:
        """Note how many requests are open."""
        self._open.set(count)

    def finish(self) -> None:
        """Note that the result is there."""
        self._finished.set(1)

    def progress(self) -> dict[str, object]:
        """Return the stage that runs and how many of its requests are done."""
        return {"stage": self._stage, "requests": self._done}
