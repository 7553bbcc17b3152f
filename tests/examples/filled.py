"""Which fields of a model are filled in an object, so that a field that no example has is noticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import BaseModel


def never_filled(parts: Iterable[BaseModel], path: str) -> list[str]:
    """Return the fields that none of these objects fills, such as ``status.conditions[].reason``."""
    fields = [field for part in parts for field in _fields(part, path)]
    filled = {field for field, is_filled in fields if is_filled}
    return sorted({field for field, _ in fields} - filled)


def _fields(part: BaseModel, path: str) -> Iterator[tuple[str, bool]]:
    """Yield each field with whether it is filled; what is below one that is not filled is not known of."""
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        there = f"{path}.{field.alias}"
        yield there, value not in (None, (), {})
        if isinstance(value, BaseModel):
            yield from _fields(value, there)
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, BaseModel):
                    yield from _fields(item, f"{there}[]")
