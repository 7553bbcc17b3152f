"""The Kubernetes API through the official client; the only module that imports it.

``DynamicClient`` is used with a fixed table of kinds, so no call hides a discovery, and with answers left as
plain JSON. The client blocks, so each request runs in a bounded thread pool and has a timeout. Before a write
is sent, in the very thread that sends it, the Lease is asked how long this process still leads; the request
may not take longer.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import kubernetes
import urllib3
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient

from chaffinch.adapters.answers import error_of
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
_SHORTEST_WRITE_SECONDS = 1.0

Report = Callable[[str, str, str, float], None]
"""Told about each request: verb, kind, status code (``none`` without an answer), seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how many. Times in seconds."""

    connect_timeout: float = 5.0
    request_timeout: float = 10.0
    connections: int = 16


class ConnectionSettingsError(Exception):
    """There is no usable way to the API server; the text says what to do."""


def connect(limits: Limits) -> DynamicClient:
    """Open the way to the API server: the kubeconfig in ``KUBECONFIG``, else the pod's ServiceAccount.

    Raises:
        ConnectionSettingsError: If there is neither, or it cannot be read.
    """
    configuration = kubernetes.client.Configuration()
    try:
        if os.environ.get("KUBECONFIG"):
            kubernetes.config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            kubernetes.config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except (kubernetes.config.ConfigException, OSError) as error:
        raise ConnectionSettingsError(
            "no way to a Kubernetes API server: run in a pod with a ServiceAccount, or set KUBECONFIG"
            f" ({type(error).__name__})"
        ) from None
    configuration.retries = False  # a failed request is the caller's to repeat, with a fresh decision
    configuration.connection_pool_maxsize = limits.connections
    client = kubernetes.client.ApiClient(configuration)
    client.user_agent = FIELD_MANAGER
    return DynamicClient(client, discoverer=_NoDiscovery)  # type: ignore[no-untyped-call]


class _NoDiscovery:
    """Stands where the dynamic client would look up kinds; ours are known."""

    def __init__(self, client: DynamicClient, cache_file: str | None) -> None:
        """Take what the dynamic client passes, and ask nothing."""


class KubernetesCluster:
    """Implements :class:`chaffinch.ports.cluster.Cluster`.

    Args:
        client: From :func:`connect`.
        limits: Timeouts and parallelism.
        seconds_left: For how long writes are allowed; asked before each of them.
        report: Told about each request.
    """

    def __init__(
        self, client: DynamicClient, limits: Limits, seconds_left: Callable[[], float], report: Report
    ) -> None:
        self._client = client
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
        answer = await self._send("list", kind, namespace, "", label_selector=selector or None)
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
            if covers(live, manifest) and not dropped(live, manifest, FIELD_MANAGER):
                return live
        return await self._send(
            "apply", kind, namespace, name, body=manifest, field_manager=FIELD_MANAGER, force_conflicts=True
        )

    async def create(self, manifest: Manifest) -> Manifest:
        """Create an object."""
        kind, namespace, name = _address(manifest)
        return await self._send("create", kind, namespace, name, body=manifest, field_manager=FIELD_MANAGER)

    async def replace(self, manifest: Manifest) -> Manifest:
        """Replace an object; the server compares its ``resourceVersion``."""
        kind, namespace, name = _address(manifest)
        return await self._send("update", kind, namespace, name, body=manifest, field_manager=FIELD_MANAGER)

    async def patch_status(
        self, kind: Kind, namespace: str, name: str, patch: Sequence[PatchOperation]
    ) -> Manifest:
        """Patch the status."""
        body = [dict(operation) for operation in patch]
        return await self._send("patch", kind, namespace, name, body=body, field_manager=FIELD_MANAGER)

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
        return await self._run("get", "OpenAPI", partial(self._request, "get", f"/openapi/v3{path}"))

    def close(self) -> None:
        """Take no more requests; those that are under way end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _send(self, verb: str, kind: Kind, namespace: str, name: str, **options: object) -> Manifest:
        method, suffix, content_type = _WIRE[verb]
        path = _path(kind, namespace, "" if verb == "create" else name) + suffix
        call = partial(self._request, method, path, content_type=content_type, **options)
        return await self._run(
            verb, kind.kind, call, what=f"{verb} {kind.kind} {namespace}/{name}".rstrip("/")
        )

    async def _run(self, verb: str, kind: str, call: Callable[[], Manifest], what: str = "") -> Manifest:
        loop = asyncio.get_running_loop()
        # With the context of the pass: the report is about a request of it.
        context = contextvars.copy_context()
        return await loop.run_in_executor(
            self._threads, context.run, self._measured, verb, kind, call, what or f"{verb} {kind}"
        )

    def _measured(self, verb: str, kind: str, call: Callable[[], Manifest], what: str) -> Manifest:
        """In a worker thread: send, translate what goes wrong, tell the metrics."""
        started, code = time.monotonic(), "none"
        try:
            answer = call()
        except NotLeadingError:
            raise
        except ApiException as error:
            code = str(error.status or "none")
            raise error_of(error.status, error.body, what) from None
        except (urllib3.exceptions.HTTPError, OSError):
            raise UnavailableError(f"{what}: the API server cannot be reached, or does not answer") from None
        except ValueError:
            raise UnavailableError(
                f"{what}: the API server answered with something that is not JSON"
            ) from None
        else:
            code = "200"
            return answer
        finally:
            self._report(verb, kind, code, time.monotonic() - started)

    def _request(
        self, method: str, path: str, content_type: str | None = None, **options: object
    ) -> Manifest:
        timeout = self._limits.request_timeout
        if method != "get":
            left = self._seconds_left()
            if left < _SHORTEST_WRITE_SECONDS:
                raise NotLeadingError("this process does not lead, so nothing was written")
            timeout = min(timeout, left)
        answer = self._client.request(
            method,
            path,
            content_type=content_type,
            serialize=False,
            _request_timeout=(min(self._limits.connect_timeout, timeout), timeout),
            **options,
        )
        content = json.loads(answer.data)
        if not isinstance(content, dict):
            raise ValueError("an answer of the API server is a JSON object")
        return content


_WIRE: Mapping[str, tuple[str, str, str | None]] = {
    "get": ("get", "", None),
    "list": ("get", "", None),
    "create": ("post", "", "application/json"),
    "update": ("put", "", "application/json"),
    "apply": ("patch", "", "application/apply-patch+yaml"),
    "patch": ("patch", "/status", "application/json-patch+json"),
    "delete": ("delete", "", "application/json"),
}
"""Verb: HTTP method, what follows the object's path, content type."""


def controller_of(manifest: Manifest) -> str | None:
    """Return the uid of the controller that owns an object, if it has one."""
    owners = manifest["metadata"].get("ownerReferences") or ()
    return next((owner["uid"] for owner in owners if owner.get("controller")), None)


def _address(manifest: Manifest) -> tuple[Kind, str, str]:
    metadata = manifest["metadata"]
    return kind_of(manifest), metadata["namespace"], metadata["name"]


def _path(kind: Kind, namespace: str, name: str) -> str:
    root = "/apis" if "/" in kind.api_version else "/api"
    place = f"/namespaces/{namespace}" if namespace else ""
    path = f"{root}/{kind.api_version}{place}/{kind.plural}"
    return f"{path}/{name}" if name else path
