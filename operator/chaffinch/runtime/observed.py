"""The ports that a pass reads from, with what they took and gave told to metrics and traces."""

from __future__ import annotations

from collections.abc import Mapping

from chaffinch.domain.evidence import Evidence, NoEvidence
from chaffinch.domain.observation import Acknowledgement
from chaffinch.ports.clock import Clock
from chaffinch.ports.evidence import EvidenceQuestion, EvidenceSource
from chaffinch.ports.router import Routers
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.rollout_metrics import READ, result_of
from chaffinch.runtime.tracing import Tracer


class ObservedEvidence:
    """An evidence source whose readings are counted, timed and traced."""

    def __init__(self, source: EvidenceSource, metrics: Metrics, clock: Clock, tracer: Tracer) -> None:
        self._source = source
        self._metrics = metrics
        self._clock = clock
        self._tracer = tracer

    async def live(self, question: EvidenceQuestion) -> Evidence | NoEvidence:
        """Ask the source."""
        began, result = self._clock.monotonic(), "cancelled"
        span = self._tracer.begin("read evidence", {"chaffinch.attempt": question.attempt})
        try:
            evidence = await self._source.live(question)
            result = result_of(evidence)
            self._metrics.read_evidence(result, self._clock.monotonic() - began)
            return evidence
        finally:
            span.end({"chaffinch.evidence": result}, failed=result != READ)


class ObservedRouters:
    """Routers whose answers are traced."""

    def __init__(self, routers: Routers, tracer: Tracer) -> None:
        self._routers = routers
        self._tracer = tracer

    async def acknowledgements(self, addresses: Mapping[str, str]) -> Mapping[str, Acknowledgement]:
        """Ask the routers."""
        answered = 0
        span = self._tracer.begin("ask routers", {"chaffinch.routers.asked": len(addresses)})
        try:
            answers = await self._routers.acknowledgements(addresses)
            answered = len(answers)
            return answers
        finally:
            span.end({"chaffinch.routers.answered": answered}, failed=answered < len(addresses))
