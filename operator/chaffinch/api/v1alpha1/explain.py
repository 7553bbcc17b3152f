"""Says in a person's words what pydantic found wrong with a field."""

from __future__ import annotations

from pydantic_core import ErrorDetails

from chaffinch.api.v1alpha1.formats import REMEDIES

_SENTENCES = {
    "missing": "is required: add it",
    "extra_forbidden": "is not a field of this version: check its spelling and indentation, or remove it",
    "enum": "{shown} is not one of {expected}",
    "value_error": "{error}",
    "int_type": "must be a whole number, without quotes",
    "string_type": "must be text: put it in quotes",
    "bool_type": "must be true or false, without quotes",
    "tuple_type": "must be a list",
    "dict_type": "must be a map",
    "model_type": "must be a map of fields",
    "model_attributes_type": "must be a map of fields",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "may have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "too_long": "may have at most {max_length} items",
    "too_short": "must have at least {min_length} items",
}


def field_path(root: str, location: tuple[int | str, ...]) -> str:
    """Return the path of a field as Kubernetes writes it, such as ``spec.objectives[0].max``."""
    # pydantic marks a bad key of a map so; the API server blames the map.
    fields = location[:-2] if location[-1:] == ("[key]",) else location
    return root + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fields)


def explanation_of(error: ErrorDetails) -> str:
    """Return what is wrong and how to put it right, without the field."""
    shown = repr(error["input"])[:80]
    context = error.get("ctx", {})
    if error["type"] == "string_pattern_mismatch":
        pattern = context["pattern"]
        return f"{shown} is not allowed: {REMEDIES.get(pattern, f'it must match {pattern}')}"
    sentence = _SENTENCES.get(error["type"])
    return error["msg"] if sentence is None else sentence.format(shown=shown, **context)
