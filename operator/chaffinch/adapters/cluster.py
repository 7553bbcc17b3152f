"""The Kubernetes API in the port's words.

A fixed table of kinds tells where each lives, so no call hides a discovery, and answers stay plain JSON. A
request blocks, so each runs in a bounded thread pool and has a timeout. Before a write is sent, in the very
thread that sends it, the Lease is asked how long this process still leads; the request may not take longer.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import urllib3

from chaffinch.adapters.answers import error_of
from chaffinch.adapters.apiserver import Answer, ApiServer
from chaffinch.adapters.leaves import covers, dropped
from chaffinch.ports.cluster import (
    Kind,
    Manifest,
    NameTakenError,
    NotFoundError,
    NotLeadingError,
    PatchOperation,
    UnavailableError,
    kind_of,
)

FIELD_MANAGER = "chaffinch"
_SIGNED = {"fieldManager": FIELD_MANAGER}
_SHORTEST_WRITE_SECONDS = 1.0

Report = Callable[[str, str, str, float], None]
"""Told about each request: verb, kind, status code (``none`` without an answer), seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how many. Times in seconds."""

    connect_timeout: float = 5.0
    request_timeout: float = 10.0
    connections: int = 16


class KubernetesCluster:
    """Implements :class:`chaffinch.ports.cluster.Cluster`.

    Args:
        server: From :func:`chaffinch.adapters.apiserver.connect`.
        limits: Timeouts and parallelism.
        seconds_left: For how long writes are allowed; asked before each of them.
        report: Told about each request.
    """

    def __init__(
        self, server: ApiServer, limits: Limits, seconds_left: Callable[[], float], report: Report
    ) -> None:
        self._server = server
        self._limits = limits
        self._seconds_left = seconds_left
        self._report = report
        self._threads = ThreadPoolExecutor(limits.connections, thread_name_prefix="kubernetes")

    async def get(self, kind: Kind, namespace: str, name: str) -> Manifest:
        """Read one object."""
        return await self._send("get", kind, namespace, name)

    async def list(self, kind: Kind, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        """Read the objects with these labels; lists leave kind and version out, so they are put back."""
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        query = {"labelSelector": selector} if selector else {}
        answer = await self._send("list", kind, namespace, "", query=query)
        return [{"apiVersion": kind.api_version, "kind": kind.kind, **item} for item in answer["items"]]

    async def apply(self, manifest: Manifest, *, live: Manifest | None = None) -> Manifest:
        """Apply on the server what is not there yet, to objects that are absent or ours."""
        kind, namespace, name = _address(manifest)
        if live is None:
            try:
                live = await self.get(kind, namespace, name)
            except NotFoundError:
                live = None
        if live is not None:
            if controller_of(live) != controller_of(manifest):
                raise NameTakenError(f"{kind.kind} {namespace}/{name} exists and belongs to somebody else")
            if is_as_wanted(live, manifest):
                return live
        return await self._send(
            "apply", kind, namespace, name, body=manifest, query={**_SIGNED, "force": "true"}
        )

    async def create(self, manifest: Manifest) -> Manifest:
        """Create an object."""
        kind, namespace, name = _address(manifest)
        return await self._send("create", kind, namespace, name, body=manifest, query=_SIGNED)

    async def replace(self, manifest: Manifest) -> Manifest:
        """Replace an object; the server compares its ``resourceVersion``."""
        kind, namespace, name = _address(manifest)
        return await self._send("update", kind, namespace, name, body=manifest, query=_SIGNED)

    async def patch_status(
        self, kind: Kind, namespace: str, name: str, patch: Sequence[PatchOperation]
    ) -> Manifest:
        """Patch the status."""
        body = [dict(operation) for operation in patch]
        return await self._send("patch", kind, namespace, name, body=body, query=_SIGNED)

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Delete an object of this uid, its children in the background; absent is fine."""
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid},
        }
        try:
            await self._send("delete", kind, namespace, name, body=body)
        except NotFoundError:
            return

    async def openapi(self, path: str) -> Manifest:
        """Read a document below ``/openapi/v3``."""
        return await self._run("get", "OpenAPI", partial(self._request, "GET", f"/openapi/v3{path}"))

    def close(self) -> None:
        """Take no more requests; those that are under way end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _send(
        self,
        verb: str,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
    ) -> Manifest:
        method, suffix, content_type = _WIRE[verb]
        path = _path(kind, namespace, "" if verb == "create" else name) + suffix
        call = partial(self._request, method, path, content_type=content_type, query=query, body=body)
        return await self._run(
            verb, kind.kind, call, what=f"{verb} {kind.kind} {namespace}/{name}".rstrip("/")
        )

    async def _run(self, verb: str, kind: str, call: Callable[[], Answer], what: str = "") -> Manifest:
        loop = asyncio.get_running_loop()
        # With the context of the pass: the report is about a request of it.
        context = contextvars.copy_context()
        return await loop.run_in_executor(
            self._threads, context.run, self._measured, verb, kind, call, what or f"{verb} {kind}"
        )

    def _measured(self, verb: str, kind: str, call: Callable[[], Answer], what: str) -> Manifest:
        """In a worker thread: send, tell the metrics, read the answer."""
        started, code = time.monotonic(), "none"
        try:
            answer = call()
            code = str(answer.status)
        except (urllib3.exceptions.HTTPError, OSError):
            raise UnavailableError(f"{what}: the API server cannot be reached, or does not answer") from None
        finally:
            self._report(verb, kind, code, time.monotonic() - started)
        return _content(answer, what)

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "",
    ) -> Answer:
        timeout = self._limits.request_timeout
        if method != "GET":
            left = self._seconds_left()
            if left < _SHORTEST_WRITE_SECONDS:
                raise NotLeadingError("this process does not lead, so nothing was written")
            timeout = min(timeout, left)
        timeouts = (min(self._limits.connect_timeout, timeout), timeout)
        return self._server.request(
            method, path, timeouts=timeouts, query=query, body=body, content_type=content_type
        )


_WIRE: Mapping[str, tuple[str, str, str]] = {
    "get": ("GET", "", ""),
    "list": ("GET", "", ""),
    "create": ("POST", "", "application/json"),
    "update": ("PUT", "", "application/json"),
    "apply": ("PATCH", "", "application/apply-patch+yaml"),
    "patch": ("PATCH", "/status", "application/json-patch+json"),
    "delete": ("DELETE", "", "application/json"),
}
"""Verb: HTTP method, what follows the object's path, content type."""


def is_as_wanted(live: Manifest, manifest: Manifest) -> bool:
    """Say whether an object has the fields of a manifest, and none that an earlier one gave it."""
    return covers(live, manifest) and not dropped(live, manifest, FIELD_MANAGER)


def controller_of(manifest: Manifest) -> str | None:
    """Return the uid of the controller that owns an object, if it has one."""
    owners = manifest["metadata"].get("ownerReferences") or ()
    return next((owner["uid"] for owner in owners if owner.get("controller")), None)


def _content(answer: Answer, what: str) -> Manifest:
    if not 200 <= answer.status < 300:
        raise error_of(answer.status, answer.body, what)
    try:
        content = json.loads(answer.body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise UnavailableError(f"{what}: the API server answered with something that is not JSON")
    return content


def _address(manifest: Manifest) -> tuple[Kind, str, str]:
    metadata = manifest["metadata"]
    return kind_of(manifest), metadata["namespace"], metadata["name"]


def _path(kind: Kind, namespace: str, name: str) -> str:
    root = "/apis" if "/" in kind.api_version else "/api"
    place = f"/namespaces/{namespace}" if namespace else ""
    path = f"{root}/{kind.api_version}{place}/{kind.plural}"
    return f"{path}/{name}" if name else path
