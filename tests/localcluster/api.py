"""A few calls to the API server, made from inside the namespace, for `up` and `status`.

kubectl would do, at a tenth of a second of CPU per call; this is used for polling.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from localcluster import settings as where

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT = 5.0
_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_APPLY = "application/apply-patch+yaml"


class ApiClient:
    """Speaks as the administrator. Call it from a thread that has entered the namespace.

    Every method raises `OSError` (which `urllib`'s errors are) when there is no good answer, or none in
    `timeout` seconds.
    """

    def __init__(self, pki: Path, *, timeout: float = _TIMEOUT) -> None:
        self._timeout = timeout
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )

    def ready(self) -> bool:
        """Tell whether the API server says that it is ready."""
        try:
            return self._call("GET", "/readyz") == b"ok"
        except OSError:
            return False

    def get(self, path: str) -> dict[str, Any] | None:
        """Return the object at `path`, or None if there is none."""
        try:
            return dict(json.loads(self._call("GET", path)))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def create(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        """Create one object of the list at `path`; return it."""
        return dict(json.loads(self._call("POST", path, json.dumps(document).encode(), _JSON)))

    def apply(self, path: str, document: dict[str, Any], *, manager: str = "localcluster") -> None:
        """Create or update one object by server-side apply, as a field manager."""
        query = f"?fieldManager={manager}&force=true"
        self._call("PATCH", path + query, json.dumps(document).encode(), _APPLY)

    def merge(self, path: str, document: dict[str, Any]) -> None:
        """Change one object, or its status, by merge patch."""
        self._call("PATCH", path, json.dumps(document).encode(), _MERGE_PATCH)

    def delete(self, path: str, *, propagation: str = "Background", grace_seconds: int | None = None) -> None:
        """Ask for one object to be deleted, with its dependents before it (`Foreground`) or after it."""
        options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        options["propagationPolicy"] = propagation
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        self._call("DELETE", path, json.dumps(options).encode(), _JSON)

    def _call(self, method: str, path: str, body: bytes | None = None, content_type: str = "") -> bytes:
        headers = {"User-Agent": "localcluster", **({"Content-Type": content_type} if body else {})}
        request = urllib.request.Request(where.API_URL + path, body, headers, method=method)
        with self._opener.open(request, timeout=self._timeout) as response:
            return bytes(response.read())
