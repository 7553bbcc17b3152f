"""Objects one change away from the valid examples: a field left out, a number at its bound, another word.

The models say where there is something to change, and the parser which of the changed objects are still
valid. An API server that keeps the same rules takes those and no others, and stores them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from chaffinch.api.kinds import KINDS
from chaffinch.api.schema import Schema, structural_schema
from chaffinch.api.v1alpha1.parse import InvalidSpec
from examples import Example, valid_examples
from examples.texts import Path, opened, written
from unit.api.words import PARSERS

_LEFT_OUT = object()
"""Stands for the absence of a value, which is not the same as YAML's null."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an object.

    Attributes:
        path: The way to what changes.
        value: What stands there afterwards, or the mark of what is left out.
    """

    path: Path
    value: object

    def __str__(self) -> str:
        """Return the change in short: ``spec.replicas=64``, or ``spec.pod-`` for what is left out."""
        return written(self.path) + ("-" if self.value is _LEFT_OUT else f"={self.value}")

    def of(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a changed copy of an object."""
        changed, inner, last = opened(body, self.path)
        if self.value is _LEFT_OUT:
            del inner[last]
        else:
            inner[last] = self.value
        return changed


@dataclass(frozen=True, slots=True)
class Variant:
    """A valid example with one change.

    Attributes:
        example: The example.
        change: What is changed.
        body: The changed object.
        field: The field that the parser blames; empty if the changed object is still valid.
    """

    example: Example
    change: Change
    body: dict[str, Any]
    field: str

    def __str__(self) -> str:
        """Return the example and the change, for test ids."""
        return f"{self.example}:{self.change}"


@cache
def valid_variants() -> tuple[Variant, ...]:
    """Return the variants that are valid, one for each change of a kind."""
    return _one_of_a_kind(variant for variant in _variants() if not variant.field)


@cache
def invalid_variants() -> tuple[Variant, ...]:
    """Return the variants that a rule forbids, one for each change of a kind."""
    return _one_of_a_kind(variant for variant in _variants() if variant.field)


def _one_of_a_kind(variants: Iterator[Variant]) -> tuple[Variant, ...]:
    # The examples are alike in much: what is changed tells more than where.
    first: dict[tuple[str, str], Variant] = {}
    for variant in variants:
        first.setdefault((variant.body["kind"], str(variant.change)), variant)
    return tuple(first.values())


def _variants() -> Iterator[Variant]:
    schemas = {kind.name: structural_schema(kind.spec) for kind in KINDS}
    for example in valid_examples():
        for change in _changes(example.body["spec"], schemas[example.body["kind"]], ("spec",)):
            body = change.of(example.body)
            yield Variant(example, change, body, _blamed(body))


def _blamed(body: dict[str, Any]) -> str:
    try:
        PARSERS[body["kind"]](body)
    except InvalidSpec as refusal:
        return refusal.field_path
    return ""


def _changes(value: Any, schema: Schema, path: Path) -> Iterator[Change]:  # noqa: ANN401 - what YAML holds
    yield from (Change(path, other) for other in _named_values(schema) if other != value)
    for name, inner in schema.get("properties", {}).items():
        there = (*path, name)
        if name not in value:
            yield from (Change(there, other) for other in _named_values(inner))
            continue
        if name not in schema.get("required", ()):
            yield Change(there, _LEFT_OUT)
        yield from _changes(value[name], inner, there)
    for index, item in enumerate(value if "items" in schema else ()):
        yield Change((*path, index), _LEFT_OUT)
        yield from _changes(item, schema["items"], (*path, index))
    for key in value if "additionalProperties" in schema else ():
        yield Change((*path, key), _LEFT_OUT)


def _named_values(schema: Schema) -> tuple[object, ...]:
    """Return the values that a schema names: its words, both ends of its numbers, yes and no."""
    if "enum" in schema:
        return tuple(schema["enum"])
    match schema.get("type"):
        case "integer":
            return schema["minimum"], schema["maximum"]
        case "boolean":
            return False, True
    return ()
