"""Every version that a rollout had, as a watch tells them, and what must be true of each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from argocd import health_of
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.revision import revision_of
from crash.playground import GROUP, Object
from kwokstage import Background
from kwokstage.api import Api, administrator
from localcluster.settings import API_URL
from stage.kubectl import condition

_PAUSE_SECONDS = 0.2


@dataclass(slots=True)
class Versions:
    """The versions of a rollout, oldest first."""

    seen: dict[str, Object] = field(default_factory=dict)

    @property
    def all(self) -> tuple[Object, ...]:
        """All of them."""
        return tuple(self.seen.values())

    async def follow(self, api: Api, path: str) -> None:
        """Keep each version that a watch tells of, for as long as the task runs."""
        while True:
            with suppress(aiohttp.ClientError):
                async for event in api.watch(path):
                    version = event["object"]
                    self.seen.setdefault(version["metadata"]["resourceVersion"], version)
            await asyncio.sleep(_PAUSE_SECONDS)


@contextmanager
def versions_of(background: Background, pki: Path, namespace: str, name: str) -> Iterator[Versions]:
    """Collect the versions of a rollout in the background; it need not exist yet."""
    found, path = Versions(), f"{GROUP}/namespaces/{namespace}/inferencerollouts"
    field = f"?fieldSelector=metadata.name={name}"

    async def begin() -> tuple[Api, asyncio.Task[None]]:
        api = Api(API_URL, administrator(pki))
        return api, asyncio.create_task(found.follow(api, path + field))

    async def end(api: Api, task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await api.close()

    begun = background.run(begin())
    try:
        yield found
    finally:
        background.run(end(*begun))


def broken_laws(versions: Sequence[Object]) -> list[str]:
    """Say which version says what it may not, one line each (case C38)."""
    asked = {one["metadata"]["generation"]: revision_of(parse_rollout(dict(one))) for one in versions}
    return [
        f"version {one['metadata']['resourceVersion']} (generation {one['metadata']['generation']}): {law}"
        for one in versions
        for law in _broken_by(one, asked)
    ]


def _broken_by(version: Object, asked: Mapping[int, str]) -> Iterator[str]:
    status, generation = version.get("status", {}), version["metadata"]["generation"]
    for told in status.get("conditions", ()):
        if not 1 <= told.get("observedGeneration", 0) <= generation:
            yield f"{told['type']} does not say which generation it is about"
    ready, stalled, working = (condition(version, kind) for kind in ("Ready", "Stalled", "Reconciling"))
    if _holds(ready) and asked[ready["observedGeneration"]] != status["stable"]["revision"]:
        yield "Ready is said of a generation whose revision does not serve"
    if _holds(ready) and "candidate" in status:
        yield "Ready is said while another revision is being tried"
    if _holds(stalled) and (_holds(ready) or _holds(working)):
        yield "Stalled is said beside Ready or Reconciling"
    health, _ = health_of(version)
    serves = _holds(ready) and ready["observedGeneration"] == generation
    if (health == "Healthy") is not serves:
        yield f"Argo CD shows {health}, and Ready is {ready.get('status')}"
    if status.get("observedGeneration") != generation and health != "Progressing":
        yield f"Argo CD shows {health} of a generation that nobody has looked at"


def ready_generations(versions: Sequence[Object]) -> set[int]:
    """Return the generations of which Ready was said."""
    told = [condition(one, "Ready") for one in versions]
    return {one["observedGeneration"] for one in told if _holds(one)}


def _holds(told: Mapping[str, object]) -> bool:
    return told.get("status") == "True"
