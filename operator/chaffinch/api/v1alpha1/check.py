"""Asks a parsed spec every rule, from the innermost part outwards, and finds the first that is broken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chaffinch.api.v1alpha1.common import SpecModel
from chaffinch.api.v1alpha1.rules import RULES


class Problem(NamedTuple):
    """A broken rule.

    Attributes:
        field_path: The field, such as ``spec.objectives[0].max``.
        message: The rule and the remedy.
    """

    field_path: str
    message: str


def problems_of(part: SpecModel, path: str) -> Iterator[Problem]:
    """Yield every broken rule in a part of a spec and below it, the innermost first.

    Rules of an outer part may rely on those of its inner parts: ask no further than the first
    problem unless all inner ones are kept.
    """
    for name, field in type(part).model_fields.items():
        field_path = f"{path}.{field.alias}"
        value = getattr(part, name)
        if isinstance(value, SpecModel):
            yield from problems_of(value, field_path)
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, SpecModel):
                    yield from problems_of(item, f"{field_path}[{index}]")
            if _is_keyed_by_name(field.json_schema_extra):
                yield from _repeated_names(value, field_path)
    for rule in RULES:
        if rule.model is type(part) and not rule.holds(part):
            yield Problem(f"{path}{rule.field}", rule.message)


def _is_keyed_by_name(extra: object) -> bool:
    return isinstance(extra, dict) and extra.get("x-kubernetes-list-map-keys") == ["name"]


def _repeated_names(items: tuple[object, ...], path: str) -> Iterator[Problem]:
    seen: set[object] = set()
    for index, item in enumerate(items):
        name = getattr(item, "name", None)
        if name in seen:
            yield Problem(f"{path}[{index}]", f"Duplicate value: another item has the name {name!r} too")
        seen.add(name)
