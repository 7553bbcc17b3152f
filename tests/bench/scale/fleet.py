"""The rollouts: made all at once, some given a new version, watched until they are where they should be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from localcluster import kwok
from localcluster.api import ApiClient
from localcluster.progress import Progress

PER_NAMESPACE = 50
IMAGE = "localhost/engine:1"
REPLICAS = 2

_LONGEST_SECONDS = 1200.0
_POLL_SECONDS = 10.0  # each look at a thousand rollouts is megabytes
_THREADS = 4

Object = Mapping[str, Any]


class NotInTimeError(Exception):
    """Some rollouts have not come to where they should; the text says how many, and shows one."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a fleet is made of.

    Attributes:
        group: Path of the API group and version, ``/apis/GROUP/VERSION``.
        plural: The plural name.
        prefix: How its namespaces' names begin.
        manifest: From namespace, name and version (1 or 2) to the object.
        is_healthy: Tells of an object whether it serves the version of its spec and has nothing left to do.
        is_in_canary: Tells of an object whether it has users on both of its versions.
    """

    group: str
    plural: str
    prefix: str
    manifest: Callable[[str, str, int], dict[str, Any]]
    is_healthy: Callable[[Object], bool]
    is_in_canary: Callable[[Object], bool]


class Fleet:
    """Many rollouts, in namespaces all of whose pods are pretended.

    Args:
        api: The API server, as the administrator.
        kind: What they are.
        size: How many.
        progress: Told how far they are.
    """

    def __init__(self, api: ApiClient, kind: Kind, size: int, progress: Progress) -> None:
        self._api = api
        self._kind = kind
        self._progress = progress
        self._places = [
            (f"{kind.prefix}-{number // PER_NAMESPACE:02d}", f"chat-{number:04d}") for number in range(size)
        ]

    @property
    def size(self) -> int:
        """How many rollouts."""
        return len(self._places)

    @property
    def _namespaces(self) -> list[str]:
        return sorted({namespace for namespace, _ in self._places})

    def create(self) -> None:
        """Create the namespaces and all rollouts."""
        for name in self._namespaces:
            metadata = {"name": name, "annotations": kwok.NAMESPACE_ANNOTATIONS}
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            self._api.apply(f"/api/v1/namespaces/{name}", document)
        self._apply(self._places, version=1)

    def give_new_version(self, count: int) -> None:
        """Edit so many rollouts, spread over all namespaces."""
        every = self.size // count
        self._apply(self._places[::every][:count], version=2)

    def until_healthy(self) -> None:
        """Wait until all of them are Healthy.

        Raises:
            NotInTimeError: If they are not after 20 minutes.
        """
        self._until("are Healthy", self._kind.is_healthy, self.size)

    def until_in_canary(self, count: int) -> None:
        """Wait until at least so many have users on both of their versions.

        Raises:
            NotInTimeError: If they have not after 20 minutes.
        """
        self._until("have users on both versions", self._kind.is_in_canary, count)

    def _until(self, what: str, holds: Callable[[Object], bool], count: int) -> None:
        deadline, shown = time.monotonic() + _LONGEST_SECONDS, -1
        while True:
            rollouts = list(self.rollouts())
            reached = sum(holds(rollout) for rollout in rollouts)
            if reached != shown:
                self._progress.say(f"  {reached} of {count} {what}")
                shown = reached
            if reached >= count:
                return
            if time.monotonic() > deadline:
                other = next(rollout for rollout in rollouts if not holds(rollout))
                raise NotInTimeError(
                    f"{reached} of {count} {what} after {_LONGEST_SECONDS:.0f} s; another: {other}"
                )
            time.sleep(_POLL_SECONDS)

    def rollouts(self) -> Iterator[Object]:
        """Yield all of ours as they are, one namespace at a time: all at once are megabytes."""
        for namespace in self._namespaces:
            found = self._api.get(f"{self._kind.group}/namespaces/{namespace}/{self._kind.plural}")
            yield from (found or {"items": ()})["items"]

    def _apply(self, places: Iterable[tuple[str, str]], *, version: int) -> None:
        def apply(place: tuple[str, str]) -> None:
            namespace, name = place
            path = f"{self._kind.group}/namespaces/{namespace}/{self._kind.plural}/{name}"
            self._api.apply(path, self._kind.manifest(namespace, name, version))

        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(apply, places))
