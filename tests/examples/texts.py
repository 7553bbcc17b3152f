"""Every place of a custom resource where a text can stand, and the same object with another text there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

URLS = (
    "http://169.254.169.254/",
    "HTTP://169.254.169.254/latest/meta-data/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://127.1:9090/",
    "https://user:password@metadata.internal/",
    "gopher://10.0.0.1:6379/_FLUSHALL",
    "file:///etc/passwd",
    "s3://of-others/model",
)
"""Addresses, of the kinds that filters by name or by dotted numbers let through."""


Path = tuple[str | int, ...]
"""The way to a place in an object: names of fields, indices of lists."""


def written(path: Path) -> str:
    """Return a path as Kubernetes writes it: ``spec.env[0].name``."""
    first, *others = path
    return f"{first}" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in others)


def opened(body: dict[str, Any], path: Path) -> tuple[dict[str, Any], Any, str | int]:
    """Return a copy of an object, in it the map or list that a path leads into, and the last of the way."""
    changed = copy.deepcopy(body)
    *way, last = path
    inner: Any = changed
    for part in way:
        inner = inner[part]
    return changed, inner, last


@dataclass(frozen=True, slots=True)
class Place:
    """A place in one object where a text stands.

    Attributes:
        field: The field as its schema has it: ``spec.env[].name``; a map's values are ``{}``, keys ``{}key``.
        path: The way there.
        is_key: Whether the text is the key of a map.
    """

    field: str
    path: Path
    is_key: bool = False

    @property
    def written(self) -> str:
        """The place as Kubernetes writes it: ``spec.env[0].name``."""
        return written(self.path)

    def filled(self, body: dict[str, Any], text: str) -> dict[str, Any]:
        """Return a copy of the object that has another text here."""
        changed, inner, last = opened(body, self.path)
        if self.is_key:
            inner[text] = inner.pop(last)
        else:
            inner[last] = text
        return changed


def text_fields(schema: dict[str, Any], field: str) -> Iterator[str]:
    """Yield every field of a schema, at or below this one, that takes a text."""
    if schema.get("type") == "string" or "x-kubernetes-int-or-string" in schema:
        yield field
    for name, inner in schema.get("properties", {}).items():
        yield from text_fields(inner, f"{field}.{name}")
    if "items" in schema:
        yield from text_fields(schema["items"], f"{field}[]")
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield f"{field}{{}}key"
        yield from text_fields(values, f"{field}{{}}")


def places_of(body: dict[str, Any], schema: dict[str, Any]) -> Iterator[Place]:
    """Yield every place of an object's spec where a text stands or could stand."""
    return _places(body["spec"], schema, "spec", ("spec",))


def _places(
    value: Any,  # noqa: ANN401 - what YAML holds
    schema: dict[str, Any],
    field: str,
    path: tuple[str | int, ...],
) -> Iterator[Place]:
    if schema.get("type") == "string" or "x-kubernetes-int-or-string" in schema:
        yield Place(field, path)
    for name, inner in schema.get("properties", {}).items():
        if name in value:
            yield from _places(value[name], inner, f"{field}.{name}", (*path, name))
    if "items" in schema:
        for index, item in enumerate(value):
            yield from _places(item, schema["items"], f"{field}[]", (*path, index))
    if isinstance(values := schema.get("additionalProperties"), dict):
        for key, item in value.items():
            yield Place(f"{field}{{}}key", (*path, key), is_key=True)
            yield from _places(item, values, f"{field}{{}}", (*path, key))
