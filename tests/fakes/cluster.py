"""An API server in memory: uids, versions, compares, JSON patches with tests, counted requests, faults."""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chaffinch.adapters.leaves import covers
from chaffinch.ports.cluster import (
    ConflictError,
    Kind,
    Manifest,
    NameTakenError,
    NotFoundError,
    PatchOperation,
    RejectedError,
    kind_of,
)

Key = tuple[str, str, str]
Fault = Callable[[str, Key], BaseException | None]


def _no_fault(verb: str, key: Key) -> None:
    del verb, key


class FakeCluster:
    """Implements the port; ``delay`` makes each request take time.

    Attributes:
        fault: May make any request fail before anything has come of it.
        lost: May lose the answer to a write that was done.
    """

    def __init__(self) -> None:
        self.objects: dict[Key, dict[str, Any]] = {}
        self.requests: list[tuple[str, Key]] = []
        self.fault: Fault = _no_fault
        self.lost: Fault = _no_fault
        self.delay = 0.0
        self._numbers = itertools.count(1)

    def writes(self) -> Counter[str]:
        """Count the requests that changed, or would have changed, something, by verb and kind."""
        return Counter(f"{verb} {key[0]}" for verb, key in self.requests if verb not in {"get", "list"})

    def put(self, manifest: Manifest) -> dict[str, Any]:
        """Store an object as if somebody else had."""
        stored = copy.deepcopy(dict(manifest))
        key = _key(manifest)
        before = self.objects.get(key, {}).get("metadata", {})
        stored["metadata"] = {
            **stored["metadata"],
            "uid": before.get("uid") or stored["metadata"].get("uid") or f"uid-{next(self._numbers)}",
            "resourceVersion": str(next(self._numbers)),
        }
        self.objects[key] = stored
        return copy.deepcopy(stored)

    def read(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        """Look at an object without a request."""
        return self.objects[kind.kind, namespace, name]

    async def get(self, kind: Kind, namespace: str, name: str) -> Manifest:
        await self._request("get", (kind.kind, namespace, name))
        try:
            return copy.deepcopy(self.objects[kind.kind, namespace, name])
        except KeyError:
            raise NotFoundError(f"get {kind.kind} {namespace}/{name}: it does not exist") from None

    async def list(self, kind: Kind, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        await self._request("list", (kind.kind, namespace, ""))
        return [
            copy.deepcopy(found)
            for (of, where, _), found in sorted(self.objects.items())
            if (of, where) == (kind.kind, namespace)
            and labels.items() <= found["metadata"].get("labels", {}).items()
        ]

    async def apply(self, manifest: Manifest, *, live: Manifest | None = None) -> Manifest:
        key = _key(manifest)
        live = self.objects.get(key) if live is None else live
        if live is not None:
            if _controller(live) != _controller(manifest):
                raise NameTakenError(f"{key[0]} {key[1]}/{key[2]} exists and belongs to somebody else")
            if covers(live, manifest):
                return live
        await self._request("apply", key)
        merged = _merged(self.objects.get(key, {}), manifest)
        assert isinstance(merged, Mapping)
        return self._answered("apply", key, merged)

    async def create(self, manifest: Manifest) -> Manifest:
        key = _key(manifest)
        await self._request("create", key)
        if key in self.objects:
            raise ConflictError("it exists")
        return self._answered("create", key, manifest)

    async def replace(self, manifest: Manifest) -> Manifest:
        key = _key(manifest)
        await self._request("update", key)
        live = self.objects.get(key)
        if live is None:
            raise NotFoundError("it does not exist")
        if manifest["metadata"].get("resourceVersion") != live["metadata"]["resourceVersion"]:
            raise ConflictError("somebody else wrote it in between")
        return self._answered("update", key, manifest)

    async def patch_status(
        self, kind: Kind, namespace: str, name: str, patch: Sequence[PatchOperation]
    ) -> Manifest:
        key = (kind.kind, namespace, name)
        await self._request("patch", key)
        if key not in self.objects:
            raise NotFoundError("it does not exist")
        changed = copy.deepcopy(self.objects[key])
        for operation in patch:
            _operate(changed, operation)
        return self._answered("patch", key, changed)

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        key = (kind.kind, namespace, name)
        await self._request("delete", key)
        if key in self.objects and self.objects[key]["metadata"]["uid"] == uid:
            del self.objects[key]
        if error := self.lost("delete", key):
            raise error

    def _answered(self, verb: str, key: Key, manifest: Manifest) -> Manifest:
        made = self.put(manifest)
        if error := self.lost(verb, key):
            raise error
        return made

    async def _request(self, verb: str, key: Key) -> None:
        self.requests.append((verb, key))
        if self.delay:
            await asyncio.sleep(self.delay)
        if error := self.fault(verb, key):
            raise error


def _key(manifest: Manifest) -> Key:
    return (kind_of(manifest).kind, manifest["metadata"]["namespace"], manifest["metadata"]["name"])


def _controller(manifest: Manifest) -> str | None:
    owners = manifest["metadata"].get("ownerReferences", ())
    return next((owner["uid"] for owner in owners if owner.get("controller")), None)


def _merged(old: object, new: object) -> object:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{name: _merged(old.get(name), value) for name, value in new.items()}}
    return copy.deepcopy(new)


def _operate(target: dict[str, Any], operation: PatchOperation) -> None:
    *parents, last = operation["path"].removeprefix("/").split("/")
    place: Any = target
    try:
        for name in parents:
            place = place[name]
        if operation["op"] == "test":
            if place[last] != operation["value"]:
                raise RejectedError("a test failed")
        else:
            place[last] = copy.deepcopy(operation["value"])
    except KeyError:
        raise RejectedError("a path does not exist") from None
