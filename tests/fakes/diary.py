"""An API server in memory that keeps a diary of what the operator writes, in words that a test can compare.

Engines are told by version (``v1`` for the first revision that is seen) and not by hash; one line is one
write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from chaffinch.domain.names import REVISION_LABEL
from chaffinch.ports.cluster import Kind, Kinds, Manifest, PatchOperation
from fakes.cluster import FakeCluster


class Diary(FakeCluster):
    """Writes down each request that changes something; what needs no request is not there.

    Attributes:
        lines: The writes in order: of the rollout ``status STAGE STEP``, of the route its weights in percent
            and its decision, of an engine's Deployment its replicas, of all else kind and name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._versions: dict[str, str] = {}

    async def apply(self, manifest: Manifest, *, live: Manifest | None = None) -> Manifest:
        before = len(self.requests)
        return self._noted(before, await super().apply(manifest, live=live))

    async def create(self, manifest: Manifest) -> Manifest:
        before = len(self.requests)
        return self._noted(before, await super().create(manifest))

    async def replace(self, manifest: Manifest) -> Manifest:
        before = len(self.requests)
        return self._noted(before, await super().replace(manifest))

    async def patch_status(
        self, kind: Kind, namespace: str, name: str, patch: Sequence[PatchOperation]
    ) -> Manifest:
        before = len(self.requests)
        return self._noted(before, await super().patch_status(kind, namespace, name, patch))

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        await super().delete(kind, namespace, name, uid)
        self.lines.append(self._named(f"delete {kind.kind} {name}"))

    def _noted(self, requests_before: int, stored: Manifest) -> Manifest:
        if len(self.requests) > requests_before:
            tell = _TELL.get(stored["kind"], _object)
            self._get_to_know(stored)
            self.lines.append(self._named(tell(stored)))
        return stored

    def _get_to_know(self, stored: Manifest) -> None:
        revision = stored["metadata"].get("labels", {}).get(REVISION_LABEL)
        if revision is not None:
            self._versions.setdefault(revision, f"v{len(self._versions) + 1}")

    def _named(self, line: str) -> str:
        for revision, version in self._versions.items():
            line = line.replace(revision, version)
        return line


def _object(stored: Manifest) -> str:
    return f"{stored['kind']} {stored['metadata']['name']}"


def _status(rollout: Manifest) -> str:
    progress: dict[str, Any] = rollout["status"].get("rollout", {})
    step = [progress["step"]["name"]] if "step" in progress else []
    return " ".join(["status", progress.get("stage", "Idle"), *step])


def _route(stored: Manifest) -> str:
    route = json.loads(stored["data"]["route.json"])
    weights = [f"{arm['revision']} {arm['weight'] / 100:g} %" for arm in route["arms"]]
    decision = [f"({route['decision']['kind']})"] if route["decision"] else []
    return " ".join(["route", *(weights or ["empty"]), *decision])


def _deployment(stored: Manifest) -> str:
    return f"{_object(stored)}: {stored['spec']['replicas']}"


_TELL: dict[str, Callable[[Manifest], str]] = {
    Kinds.ROLLOUT.kind: _status,
    Kinds.CONFIG_MAP.kind: _route,
    Kinds.DEPLOYMENT.kind: _deployment,
}
