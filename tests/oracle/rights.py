"""Which rights a user has used, and lacked, from the audit log, and which its roles grant it.

A right that nothing uses is one that only an attacker would. Rights are written ``verb resource.group``, as
``kubectl auth can-i`` takes them, with a subresource after a slash.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

CREATED = 201
_BINDINGS = frozenset({"rolebindings", "clusterrolebindings"})


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
    yield _what(event)
    if event["verb"] == "patch" and event.get("responseStatus", {}).get("code") == CREATED:
        # Server-side apply of an object that is absent takes the right to create it, too.
        yield _what(event | {"verb": "create"})


def refused(path: Path, user: str, bindings: Collection[str]) -> list[str]:
    """Return what a user was refused while it had its roles, as an audit log has it.

    Whoever removes a chart, or a namespace that it was installed for, takes the roles from an operator that
    still ends. What is refused from the moment at which one of its bindings is deleted, until one is made
    again, shows no missing right.

    Args:
        path: The audit log.
        user: The user.
        bindings: The names of its RoleBindings and ClusterRoleBindings, in whatever namespace.

    Returns:
        ``verb resource.group at TIME``, in the order of the log.
    """
    refusals: list[tuple[datetime, str]] = []
    changes: list[_Change] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n") or not ("bindings" in line or user in line):
                continue
            event = json.loads(line)
            if event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid":
                if event["user"]["username"] == user:
                    refusals.append((_at(event), _what(event)))
            elif (change := _change(event, bindings)) is not None:
                changes.append(change)
    lapses = _lapses(changes)
    return [
        f"{what} at {at.isoformat()}"
        for at, what in refusals
        if not any(since <= at and (until is None or at < until) for since, until in lapses)
    ]


@dataclass(frozen=True, slots=True)
class _Change:
    """One of a user's bindings was made, or deleted.

    Attributes:
        at: When; of a deletion, when it was asked for.
        namespace: Where; empty for the whole cluster.
        name: Which; empty for all of the namespace.
        made: Whether it was made.
    """

    at: datetime
    namespace: str
    name: str
    made: bool


def _change(event: Mapping[str, Any], bindings: Collection[str]) -> _Change | None:
    reference, code = event.get("objectRef") or {}, event.get("responseStatus", {}).get("code", 0)
    if reference.get("resource") not in _BINDINGS or code >= 300:
        return None
    made = event["verb"] == "create" or (event["verb"] == "patch" and code == CREATED)
    name = reference.get("name") or (event.get("responseObject") or {}).get("metadata", {}).get("name", "")
    if event["verb"] == "deletecollection":
        name = ""
    elif name not in bindings or not (made or event["verb"] == "delete"):
        return None
    at = _at(event) if made else datetime.fromisoformat(event["requestReceivedTimestamp"])
    return _Change(at, reference.get("namespace", ""), name, made)


def _lapses(changes: Iterable[_Change]) -> list[tuple[datetime, datetime | None]]:
    """Return the times in which bindings were missing, the last one without an end if it lasts."""
    lapses: list[tuple[datetime, datetime | None]] = []
    there: set[tuple[str, str]] = set()
    since: datetime | None = None
    for change in sorted(changes, key=lambda change: change.at):
        place = (change.namespace, change.name)
        if change.made:
            if since is not None:
                lapses.append((since, change.at))
            there.add(place)
            since = None
            continue
        gone = {each for each in there if each == place or (not change.name and each[0] == change.namespace)}
        there -= gone
        if gone and since is None:
            since = change.at
    return lapses if since is None else [*lapses, (since, None)]


def _at(event: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(event["stageTimestamp"])


def _what(event: Mapping[str, Any]) -> str:
    reference = event.get("objectRef")
    if reference is None:
        return f"{event['verb']} {event['requestURI']}"
    subresource = reference.get("subresource")
    resource = reference["resource"] + (f"/{subresource}" if subresource else "")
    return _right(event["verb"], reference.get("apiGroup", ""), resource)


def _right(verb: str, group: str, resource: str) -> str:
    name, slash, subresource = resource.partition("/")
    return f"{verb} {name}{f'.{group}' if group else ''}{slash}{subresource}"
