"""Does the live object already have what we want? Compared by the fields that we own, leaf by leaf.

The API server adds defaults and other writers add fields, so whole objects never compare equal. What counts:
every leaf of our manifest is there with the same value, and the server has recorded no leaf as ours that the
manifest does not have any more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from chaffinch.api.v1alpha1.quantities import resource_amount

_ITEM_KEYS = ("name", "uid", "mountPath", "containerPort", "port", "key")
_AMOUNTS = frozenset({"limits", "requests", "sizeLimit"})


def covers(live: object, wanted: object, field: str = "") -> bool:
    """Say whether every leaf of ``wanted`` is in ``live``.

    Args:
        live: What is there.
        wanted: What shall be there.
        field: Name of the field that holds them; amounts of resources compare by value, ``1000m`` is ``1``.
    """
    if isinstance(wanted, Mapping):
        inner = field if field in _AMOUNTS else ""
        return isinstance(live, Mapping) and all(
            covers(live.get(name), value, inner or name) for name, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return isinstance(live, Sequence) and not isinstance(live, str) and _covers_items(live, wanted)
    if field in _AMOUNTS and live is not None:
        return _amount(live) == _amount(wanted)
    return type(live) is type(wanted) and live == wanted


def dropped(live: Mapping[str, Any], wanted: Mapping[str, Any], manager: str) -> bool:
    """Say whether the server has a leaf recorded as the manager's that ``wanted`` lacks."""
    return any(
        not _has(wanted, entry.get("fieldsV1", {}))
        for entry in live.get("metadata", {}).get("managedFields", ())
        if entry.get("manager") == manager
        and entry.get("operation") == "Apply"
        and not entry.get("subresource")
    )


def managers_of(live: Mapping[str, Any], path: Sequence[str]) -> list[str]:
    """Return the managers that the server has recorded for a field, the newest first.

    Args:
        live: What is there.
        path: Names of the field and of those that it is in.
    """
    return [manager for manager, fields in _recorded(live) if _is_at(path, fields)]


def others_in(live: Mapping[str, Any], wanted: Mapping[str, Any], manager: str) -> list[str]:
    """Return who else has given a leaf of ``wanted`` another value, the newest first.

    Args:
        live: What is there.
        wanted: What shall be there.
        manager: Who is not meant.
    """
    return [other for other, fields in _recorded(live) if other != manager and _differs(live, wanted, fields)]


def _recorded(live: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    entries = live["metadata"].get("managedFields") or ()
    newest_first = sorted(entries, key=lambda entry: str(entry.get("time", "")), reverse=True)
    return [(str(entry.get("manager", "")), entry.get("fieldsV1") or {}) for entry in newest_first]


def _is_at(path: Sequence[str], fields: Mapping[str, Any]) -> bool:
    for name in path:
        if f"f:{name}" not in fields:
            return False
        fields = fields[f"f:{name}"]
    return True


def _differs(live: object, wanted: object, fields: Mapping[str, Any]) -> bool:
    """Say whether a value at one of these fields is another than wanted; what is not wanted is not ours."""
    if not fields or set(fields) == {"."}:
        return not covers(live, wanted)
    return any(
        _differs(_at(live, step), _at(wanted, step), below)
        for step, below in fields.items()
        if _at(wanted, step) is not None
    )


def _at(value: object, step: str) -> object:
    """Follow one step of a ``fieldsV1`` path; None if it leads nowhere."""
    kind, _, text = step.partition(":")
    if kind == "f":
        return value.get(text) if isinstance(value, Mapping) else None
    if kind == "k":
        return next((item for item in _items(value) if _matches(item, json.loads(text))), None)
    return None


def _covers_items(live: Sequence[object], wanted: Sequence[object]) -> bool:
    key = next((key for key in _ITEM_KEYS if wanted and all(_keyed(item, key) for item in wanted)), None)
    if key is None:
        return len(live) == len(wanted) and all(covers(a, b) for a, b in zip(live, wanted, strict=True))
    by_key = {item[key]: item for item in live if isinstance(item, Mapping) and key in item}
    return all(covers(by_key.get(item[key]), item) for item in wanted if isinstance(item, Mapping))


def _keyed(item: object, key: str) -> bool:
    return isinstance(item, Mapping) and key in item


def _amount(value: object) -> object:
    if isinstance(value, int | str):
        try:
            return resource_amount(value)
        except ValueError:
            return value
    return value


def _has(wanted: object, fields: Mapping[str, Any]) -> bool:
    return all(_has_step(wanted, step, below) for step, below in fields.items())


def _has_step(wanted: object, step: str, below: Mapping[str, Any]) -> bool:
    """Follow one step of a ``fieldsV1`` path: ``f:`` a field, ``k:`` an item by key, ``v:`` a member."""
    kind, _, text = step.partition(":")
    if kind == "f":
        return isinstance(wanted, Mapping) and text in wanted and _has(wanted[text], below)
    if kind == "k":
        return any(_has(item, below) for item in _items(wanted) if _matches(item, json.loads(text)))
    if kind == "v":
        return json.loads(text) in _items(wanted)
    return True  # "." is the node itself, which is there when we get here


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _matches(item: object, keys: Mapping[str, object]) -> bool:
    # A key that the manifest leaves to its default (a port's protocol) does not tell items apart.
    return isinstance(item, Mapping) and all(item.get(name, value) == value for name, value in keys.items())
