"""Looks before anything starts: are the CRDs there, do they know every field, may we read?

Each problem is one line that says what to do. With an outdated CRD the API server would silently drop fields
of the status, which is the operator's memory; so it refuses to start, and leaves everything as it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from chaffinch.api.crd import crd_of
from chaffinch.api.kinds import KINDS
from chaffinch.api.v1alpha1.common import API_VERSION, GROUP, VERSION
from chaffinch.api.v1alpha1.reasons import Reason, StartReason
from chaffinch.ports.cluster import Cluster, DeniedError, Kinds, Manifest, UnavailableError

log = logging.getLogger(__name__)

_MOST_PATHS = 5
_PAUSE_SECONDS = 5.0
_REMEDY = "install or upgrade them with the chart, or with: kubectl apply --server-side -f crds/"
LISTED = (
    Kinds.ROLLOUT,
    Kinds.PROBE,
    Kinds.BASELINE,
    Kinds.COMMAND,
    Kinds.RECORD,
    Kinds.DEPLOYMENT,
    Kinds.POD,
    Kinds.SERVICE,
    Kinds.CONFIG_MAP,
    Kinds.CONTROLLER_REVISION,
)
"""What is watched, and what passes list; every other kind is read by name only."""


class NotReadyError(Exception):
    """The operator cannot start; the text is one line: a word of the runbook, what is wrong, the remedy."""

    def __init__(self, reason: StartReason | Reason, message: str) -> None:
        super().__init__(f"{reason}: {message}")


class Schemas(Protocol):
    """The API server's own description of what it serves."""

    async def openapi(self, path: str) -> Manifest:
        """Read a document below ``/openapi/v3``; an empty path is the index."""
        ...


async def passed(check: Callable[[], Awaitable[None]]) -> None:
    """Do a check as soon as the API server answers: an outage is waited out, and is no reason to crash.

    Raises:
        NotReadyError: If the check fails.
    """
    while True:
        try:
            return await check()
        except UnavailableError as error:
            log.warning("waiting for the API server: %s", error)
            await asyncio.sleep(_PAUSE_SECONDS)


async def check_crds(schemas: Schemas) -> None:
    """Compare the installed CRDs with what this version needs.

    Raises:
        NotReadyError: If a kind, a field or a word is missing, or may not be asked for.
        UnavailableError: If the API server does not answer.
    """
    try:
        index = await schemas.openapi("")
        if f"apis/{API_VERSION}" not in index.get("paths", {}):
            raise NotReadyError(StartReason.CRD_MISSING, f"the CRDs of {GROUP} are not installed: {_REMEDY}")
        document = await schemas.openapi(f"/apis/{API_VERSION}")
    except DeniedError as error:
        raise NotReadyError(Reason.FORBIDDEN, f"the CRDs cannot be checked: {error}") from None
    missing = list(missing_paths(document))
    if missing:
        more = f" and {len(missing) - _MOST_PATHS} more" if len(missing) > _MOST_PATHS else ""
        raise NotReadyError(
            StartReason.CRD_OUTDATED,
            f"the installed CRDs are too old, they lack {', '.join(missing[:_MOST_PATHS])}{more}: {_REMEDY}",
        )


async def check_rights(cluster: Cluster, namespaces: Sequence[str]) -> None:
    """Try to list everything that will be watched or listed.

    Args:
        cluster: Whom to ask.
        namespaces: Namespaces to serve; an empty name is all of them at once.

    Raises:
        NotReadyError: If it may not be listed.
        UnavailableError: If the API server does not answer.
    """
    for kind in LISTED:
        for namespace in namespaces:
            try:
                await cluster.list(kind, namespace, {"chaffinch.dev/preflight": "none"})
            except DeniedError:
                where = f"in namespace {namespace}" if namespace else "in all namespaces"
                raise NotReadyError(
                    Reason.FORBIDDEN,
                    f"the operator may not list {kind.plural} {where}: grant its ServiceAccount the roles of"
                    " the chart, or set CHAFFINCH_WATCH_NAMESPACES to the namespaces that it may read",
                ) from None


def missing_paths(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what this version needs and an OpenAPI document of the group lacks: kinds, fields, words."""
    served = {
        name: schema
        for schema in document.get("components", {}).get("schemas", {}).values()
        for name in _kinds_of(schema)
    }
    for kind in KINDS:
        if kind.name not in served:
            yield kind.name
            continue
        needed = crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        for part in ("spec", "status"):
            if part in needed:
                have = served[kind.name].get("properties", {}).get(part, {})
                yield from (f"{kind.name}.{path}" for path in _missing(needed[part], have, part))


def _kinds_of(schema: Mapping[str, Any]) -> list[str]:
    described = schema.get("x-kubernetes-group-version-kind", ())
    return [one["kind"] for one in described if (one["group"], one["version"]) == (GROUP, VERSION)]


def _missing(needed: Mapping[str, Any], have: Mapping[str, Any], path: str) -> Iterator[str]:
    if "enum" in have:
        yield from (f"{path}={word}" for word in needed.get("enum", ()) if word not in have["enum"])
    for part, sign in (("items", "[]"), ("additionalProperties", "{}")):
        if part in needed:
            yield from _missing(needed[part], have.get(part, {}), path + sign)
    for name, schema in needed.get("properties", {}).items():
        there = have.get("properties", {}).get(name)
        if there is None:
            yield f"{path}.{name}"
        else:
            yield from _missing(schema, there, f"{path}.{name}")
