"""Asks the routers' agents what they have in effect: ``GET :9090/state``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chaffinch.adapters.pods import Pods, PodUnavailableError
from chaffinch.domain.observation import Acknowledgement

log = logging.getLogger(__name__)

_MOST_BYTES = 64 * 1024


class _State(BaseModel):
    """What an agent answers; more than this is allowed and not looked at."""

    model_config = ConfigDict(extra="ignore", strict=True)

    epoch: int = Field(ge=0)
    sequence: int = Field(ge=0)
    weights: dict[str, int]
    open: dict[str, Annotated[int, Field(ge=0)]] | None = None


class AgentRouters:
    """Implements :class:`chaffinch.ports.router.Routers`."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods

    async def acknowledgements(self, addresses: Mapping[str, str]) -> Mapping[str, Acknowledgement]:
        """Ask all at once; whoever does not answer properly is left out."""
        answers = await asyncio.gather(*(self._ask(pod, address) for pod, address in addresses.items()))
        return {pod: answer for pod, answer in zip(addresses, answers, strict=True) if answer is not None}

    async def _ask(self, pod: str, address: str) -> Acknowledgement | None:
        try:
            status, body = await self._pods.fetch("GET", address, "/state", most_bytes=_MOST_BYTES)
            if status != 200:
                return None
            state = _State.model_validate_json(body)
        except PodUnavailableError:
            return None
        except ValidationError:
            log.warning("router %s gives an answer that is no state", pod)
            return None
        return Acknowledgement(state.epoch, state.sequence, state.weights, state.open)
