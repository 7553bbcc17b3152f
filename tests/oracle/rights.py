"""Which of its rights a user has used, from the audit log, and which it has been granted, from its roles.

A right that nothing uses is one that only an attacker would. Rights are written ``verb resource.group``, as
``kubectl auth can-i`` takes them, with a subresource after a slash.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

CREATED = 201


def granted(rules: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the rights that the rules of roles grant; names of single objects do not matter."""
    return {
        _right(verb, group, resource)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(path: Path, user: str) -> set[str]:
    """Return the rights that a user has used, as an audit log has it; refused requests use none."""
    with path.open(encoding="utf-8") as lines:
        return {right for line in lines if user in line for right in _used_by(line, user)}


def _used_by(line: str, user: str) -> Iterator[str]:
    if not line.endswith("\n"):  # it is still being written
        return
    event = json.loads(line)
    reference = event.get("objectRef")
    allowed = event.get("annotations", {}).get("authorization.k8s.io/decision") == "allow"
    if event["user"]["username"] != user or reference is None or not allowed:
        return
    subresource = reference.get("subresource")
    resource = reference["resource"] + (f"/{subresource}" if subresource else "")
    yield _right(event["verb"], reference.get("apiGroup", ""), resource)
    if event["verb"] == "patch" and event.get("responseStatus", {}).get("code") == CREATED:
        # Server-side apply of an object that is absent takes the right to create it, too.
        yield _right("create", reference.get("apiGroup", ""), resource)


def _right(verb: str, group: str, resource: str) -> str:
    name, slash, subresource = resource.partition("/")
    return f"{verb} {name}{f'.{group}' if group else ''}{slash}{subresource}"
