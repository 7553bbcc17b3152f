"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from chaffinch.api.v1alpha1.common import SpecModel

ModelT = TypeVar("ModelT", bound=SpecModel)


@dataclass(frozen=True, slots=True)
class Rule(Generic[ModelT]):
    """A rule between the fields of one model.

    Attributes:
        model: The model whose values are checked, wherever it appears in a spec.
        message: The rule and the remedy, as a person reads it behind the field's path.
        cel: The rule for the API server; ``self`` is a value of the model.
        holds: The same rule in Python; True when it is kept.
        field: The field to blame, relative to the model, such as ``.steps``; empty for the whole.
    """

    model: type[ModelT]
    message: str
    cel: str
    holds: Callable[[ModelT], bool]
    field: str = ""


@dataclass(frozen=True, slots=True)
class ObjectRule(Generic[ModelT]):
    """A rule between an object's name and its spec.

    Attributes:
        model: The spec of the kind that is checked.
        message: The rule and the remedy.
        cel: The rule for the API server; ``self`` is the whole object.
        holds: The same rule in Python, of the object's name and its spec.
        field: The field to blame.
    """

    model: type[ModelT]
    message: str
    cel: str
    holds: Callable[[str, ModelT], bool]
    field: str = "metadata.name"


def quoted(words: tuple[str, ...]) -> str:
    """Return words as a list in CEL."""
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def number(field: str, pattern: str, unit: str, condition: str) -> str:
    """Return CEL that applies a condition on ``x`` to a field's number, if the field has the form."""
    amount = f"double({field}.replace('{unit}', ''))"
    return f"(!has({field}) || !{field}.matches({raw(pattern)}) || {condition.replace('x', amount)})"


def raw(pattern: str) -> str:
    """Return a pattern as a raw string in CEL."""
    return f"r'{pattern}'"
