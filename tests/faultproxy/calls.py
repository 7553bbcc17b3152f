"""What a request to the API server asks for, read from its method, path, query and body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

APPLY_TYPE = "application/apply-patch+yaml"
WRITE_VERBS = frozenset({"create", "update", "patch", "apply", "delete"})

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
        verb: get, list, watch, create, update, patch, apply or delete.
        resource: The plural name, with its subresource after a slash; empty for what is no resource.
        namespace: Empty for all of them, and for objects of the whole cluster.
        name: The object's name; empty for a list.
    """

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""

    @property
    def is_write(self) -> bool:
        """Whether it changes, or would change, something."""
        return self.verb in WRITE_VERBS

    def __str__(self) -> str:
        """Say it as a person would."""
        return " ".join(part for part in (self.verb, self.resource, self.namespace, self.name) if part)


def call_of(method: str, path: str, query: Mapping[str, str], content_type: str, body: bytes) -> Call:
    """Return what a request asks for.

    Args:
        method: The HTTP method.
        path: The path of the URL.
        query: Its query.
        content_type: Of the body; tells a server-side apply from other patches.
        body: The body; a created object's name stands there only.
    """
    resource, namespace, name = _address(path)
    verb = _VERBS.get(method, "get" if name or not resource else "list")
    if method == "GET" and query.get("watch") in {"1", "true"}:
        verb = "watch"
    elif verb == "patch" and content_type.startswith(APPLY_TYPE):
        verb = "apply"
    return Call(verb, resource, namespace, name or (_name_in(body) if verb == "create" else ""))


def _address(path: str) -> tuple[str, str, str]:
    """Split ``/api/v1/…`` or ``/apis/GROUP/VERSION/…`` into resource, namespace and name."""
    parts = [part for part in path.split("/") if part]
    rest = parts[2:] if parts[:1] == ["api"] else parts[3:] if parts[:1] == ["apis"] else []
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest[:3], "", "", "")[:3]
    return (f"{resource}/{subresource}" if subresource else resource), namespace, name


def _name_in(body: bytes) -> str:
    try:
        return str(json.loads(body)["metadata"]["name"])
    except (ValueError, KeyError, TypeError):
        return ""
