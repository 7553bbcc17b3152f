"""Pulls results from probe workers: ``GET :9090/result``, then ``POST :9090/collected``."""

from __future__ import annotations

import logging
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chaffinch.adapters.pods import Pods, PodUnavailableError
from chaffinch.api.v1alpha1.common import NAME_PATTERN
from chaffinch.ports.probe_results import Finished, Progress
from chaffinch.probe.result import MAX_RESULT_BYTES

log = logging.getLogger(__name__)


class _Progress(BaseModel):
    """What a worker answers while it works."""

    model_config = ConfigDict(extra="ignore", strict=True)

    # Stored in a status: a name, and no other text.
    stage: Annotated[str, Field(max_length=63, pattern=rf"{NAME_PATTERN}|^$")]
    requests: int = Field(ge=0)


class WorkerResults:
    """Implements :class:`chaffinch.ports.probe_results.ProbeResults`."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods

    async def ask(self, address: str) -> Progress | Finished | None:
        """Ask for the result: 200 has it, 503 tells how far the worker is."""
        try:
            status, body = await self._pods.fetch("GET", address, "/result", most_bytes=MAX_RESULT_BYTES)
            if status == 200:
                return Finished(body)
            if status == 503:
                progress = _Progress.model_validate_json(body)
                return Progress(progress.stage, progress.requests)
        except (PodUnavailableError, ValidationError):
            return None
        return None

    async def collected(self, address: str) -> None:
        """Let the worker go; if it does not hear it, it goes by itself later."""
        try:
            await self._pods.fetch("POST", address, "/collected", most_bytes=1024)
        except PodUnavailableError:
            log.info("a probe worker did not hear that its result was collected")
