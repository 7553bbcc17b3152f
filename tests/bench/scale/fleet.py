"""The rollouts: made all at once, some given a new version, watched until they are where they should be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.api.v1alpha1.rollout import Objective
from chaffinch.api.v1alpha1.status import Phase, RolloutStage
from localcluster import kwok
from localcluster.api import ApiClient
from localcluster.progress import Progress
from stage.service import Service

PER_NAMESPACE = 50

_GROUP = "/apis/chaffinch.dev/v1alpha1"
_IMAGE = "localhost/engine:1"
_POLL_SECONDS = 10.0  # each look at a thousand rollouts is megabytes
_THREADS = 4

Object = Mapping[str, Any]


class NotInTimeError(Exception):
    """Some rollouts have not come to where they should; the text says how many, and shows one."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the steps of a new version take, in seconds.

    Attributes:
        canary: The first step, during which the operator is measured.
        rest: Each of the steps after it.
    """

    canary: int
    rest: int = 10

    def steps(self) -> tuple[dict[str, Any], ...]:
        """Return the strategy's steps."""
        return (
            {"name": "canary-20", "canary": {"weight": 20, "for": f"{self.canary}s"}},
            {"name": "canary-50", "canary": {"weight": 50, "for": f"{self.rest}s"}},
            {"name": "bake", "bake": {"for": f"{self.rest}s"}},
        )


class Fleet:
    """Many rollouts, in namespaces all of whose pods are pretended.

    Args:
        api: The API server, as the administrator.
        size: How many rollouts.
        pace: How fast new versions go.
        progress: Told how far they are.
    """

    def __init__(self, api: ApiClient, size: int, pace: Pace, progress: Progress) -> None:
        self._api = api
        self._progress = progress
        self._services = [
            Service(
                namespace=f"scale-{number // PER_NAMESPACE:02d}",
                name=f"chat-{number:04d}",
                image=_IMAGE,
                flags=("--seed=1",),
                steps=pace.steps(),
                progress_deadline="1h",
            )
            for number in range(size)
        ]

    def objectives(self) -> tuple[Objective, ...]:
        """Return what all of them are gated by."""
        return parse_rollout(self._services[0].manifest()).objectives

    def create(self) -> None:
        """Create the namespaces and all rollouts."""
        for name in sorted({service.namespace for service in self._services}):
            metadata = {"name": name, "annotations": kwok.NAMESPACE_ANNOTATIONS}
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            self._api.apply(f"/api/v1/namespaces/{name}", document)
        self._apply(self._services)

    def give_new_version(self, count: int) -> None:
        """Edit so many rollouts, spread over all namespaces."""
        every = len(self._services) // count
        self._apply(service.version("--seed=2") for service in self._services[::every][:count])

    def until(self, what: str, holds: Callable[[Object], bool], *, count: int, seconds: float) -> None:
        """Wait until something is so of at least so many rollouts.

        Raises:
            NotInTimeError: If it is not after so many seconds.
        """
        deadline, shown = time.monotonic() + seconds, -1
        while True:
            rollouts = list(self._rollouts())
            reached = sum(holds(rollout) for rollout in rollouts)
            if reached != shown:
                self._progress.say(f"  {reached} of {count} {what}")
                shown = reached
            if reached >= count:
                return
            if time.monotonic() > deadline:
                other = next(rollout for rollout in rollouts if not holds(rollout))
                raise NotInTimeError(f"{reached} of {count} {what} after {seconds:.0f} s; another: {other}")
            time.sleep(_POLL_SECONDS)

    def _rollouts(self) -> Iterator[Object]:
        """Yield all rollouts as they are; a page at a time, for all at once are megabytes."""
        path = f"{_GROUP}/inferencerollouts?limit=250"
        next_page = path
        while next_page:
            page = self._api.get(next_page) or {"items": [], "metadata": {}}
            yield from page["items"]
            token = page["metadata"].get("continue")
            next_page = f"{path}&continue={token}" if token else ""

    def _apply(self, services: Iterable[Service]) -> None:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(self._apply_one, services))

    def _apply_one(self, service: Service) -> None:
        place = f"{_GROUP}/namespaces/{service.namespace}/inferencerollouts/{service.name}"
        self._api.apply(place, service.manifest())


def is_healthy(rollout: Object) -> bool:
    """Tell whether a rollout serves the version of its spec and has nothing left to do."""
    status = rollout.get("status") or {}
    if status.get("observedGeneration") != rollout["metadata"]["generation"]:
        return False
    return status.get("phase") == Phase.HEALTHY and not status.get("rollout")


def is_in_canary(rollout: Object) -> bool:
    """Tell whether a rollout has users on both of its versions."""
    status = rollout.get("status") or {}
    if (status.get("rollout") or {}).get("stage") != RolloutStage.STEPPING:
        return False
    return bool(status["traffic"]["weight"]["desired"])
