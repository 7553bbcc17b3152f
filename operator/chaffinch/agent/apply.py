"""Brings Envoy from one configuration to the next without an instant in which it has none.

Order matters: a route may only name clusters that Envoy has and whose endpoints it knows, and a
cluster may only go once no route names it. So each file is written after Envoy has confirmed the
one before. A route counts as applied when Envoy says that it is, not when it has been written.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from chaffinch.agent.admin import Accepted, EnvoyAdmin, EnvoyDownError
from chaffinch.agent.bootstrap import EnvoyPaths, bootstrap
from chaffinch.agent.files import write_atomically
from chaffinch.agent.truth import Truth
from chaffinch.agent.xds import Document, Translation, clusters, empty_files, translate

_POLL_SECONDS = 0.02


class NotConfirmedError(Exception):
    """Envoy runs and has not taken a file over in time; the files after it have not been written."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A truth that Envoy serves, with what came of it."""

    truth: Truth
    translation: Translation


class Applier:
    """Writes Envoy's files and waits for Envoy to take them over.

    Args:
        paths: Where the files are.
        port: The port that Envoy listens on.
        admin: Envoy's admin interface.
        patience: How long Envoy may take over one file, in seconds.
    """

    def __init__(self, paths: EnvoyPaths, port: int, admin: EnvoyAdmin, patience: float = 10) -> None:
        self._paths = paths
        self._port = port
        self._admin = admin
        self._patience = patience

    def prepare(self, node: str) -> None:
        """Write what Envoy needs to start: the bootstrap, and empty files where there are none yet."""
        self._paths.config.mkdir(parents=True, exist_ok=True)
        self._paths.log.mkdir(parents=True, exist_ok=True)
        for document in empty_files(self._paths):
            if not document.path.exists():
                _write(document)
        write_atomically(self._paths.bootstrap, json.dumps(bootstrap(self._paths, node)))

    async def apply(self, truth: Truth) -> Applied:
        """Bring Envoy to serve a truth.

        A stopped Envoy is no hindrance: it reads all files when it starts.

        Raises:
            NotConfirmedError: If a running Envoy does not take a file over.
            AdminError: If a running Envoy cannot be asked.
        """
        wanted = translate(truth.route, truth.endpoints, self._paths, self._port)
        revisions = {arm.revision for arm in truth.route.arms}
        for revision, document in wanted.endpoints.items():
            # An arm that loses its endpoints loses its traffic first.
            if wanted.ready[revision] or not document.path.exists():
                _write(document)
        both = clusters(revisions | self._clusters(), self._paths)
        await self._replace(both, lambda now: now.clusters == both.version and now.warming == 0)
        await self._replace(wanted.routes, lambda now: now.routes in {wanted.routes.version, None})
        await self._replace(wanted.listeners, lambda now: now.listeners == wanted.listeners.version)
        await self._confirm(lambda now: now.routes == wanted.routes.version)
        leaving = self._clusters() - revisions
        await self._replace(wanted.clusters, lambda now: now.clusters == wanted.clusters.version)
        for document in wanted.endpoints.values():
            _write(document)
        for revision in leaving:
            self._paths.endpoints(revision).unlink(missing_ok=True)
        return Applied(truth, wanted)

    def _clusters(self) -> set[str]:
        # Read from the file and not remembered: the process may have been restarted half-way.
        return {cluster["name"] for cluster in json.loads(self._paths.clusters.read_text())["resources"]}

    async def _replace(self, document: Document, confirmed: Callable[[Accepted], bool]) -> None:
        _write(document)
        await self._confirm(confirmed)

    async def _confirm(self, confirmed: Callable[[Accepted], bool]) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience
        while True:
            try:
                accepted = await self._admin.accepted()
            except EnvoyDownError:
                return
            if confirmed(accepted):
                return
            if loop.time() > deadline:
                raise NotConfirmedError("Envoy has not taken over its configuration in time")
            await asyncio.sleep(_POLL_SECONDS)


def _write(document: Document) -> None:
    if not document.path.exists() or document.path.read_text() != document.text:
        write_atomically(document.path, document.text)
