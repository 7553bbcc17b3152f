"""Writes the reference of the API for people: every field, rule, condition and reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaffinch.api import default_steps
from chaffinch.api.crd import crd_of
from chaffinch.api.kinds import KINDS, Kind
from chaffinch.api.schema import Schema
from chaffinch.api.v1alpha1.common import API_VERSION
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES
from chaffinch.api.v1alpha1.reasons import CommandReason, ConditionType, Reason

_INTRODUCTION = f"""\
# API reference

The objects of `{API_VERSION}`. Absent optional fields have the meaning that is written beside them; nothing
is ever filled into a spec. The rules are checked by the API server, and once more by the operator.

Durations are whole numbers with `s`, `m` or `h`; latencies have `ms` or `s`, shares `%`, differences of
shares `pp` (percentage points). There are no floats. References are names of objects in the same namespace.
"""

_TYPES = {
    "array": "list of up to {maxItems}",
    "date-time": "time",
    "integer": "integer {minimum:,}..{maximum:,}",
    "map": "map of up to {maxProperties}",
    "string": "text of up to {maxLength:,}",
}


def reference() -> str:
    """Return the reference as Markdown."""
    chapters = [
        _INTRODUCTION,
        *(_kind_chapter(kind) for kind in KINDS),
        _default_steps_chapter(),
        _profiles_chapter(),
        _words_chapter(),
    ]
    return "\n".join(chapters)


def _kind_chapter(kind: Kind) -> str:
    schema: Schema = crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    lines = [f"## {kind.name} (`{kind.short}`)", "", kind.description, ""]
    for part in ("spec", "status"):
        if part in schema["properties"]:
            rows = list(_rows(schema["properties"][part], part))
            lines += [f"### {kind.name}: {part}", "", *_table(("field", "type", "meaning"), rows), ""]
    lines += [f"### {kind.name}: rules", "", *(f"- {rule}" for rule in _rules(schema, "")), ""]
    return "\n".join(lines)


def _rows(node: Schema, path: str) -> Iterator[tuple[str, str, str]]:
    required = node.get("required", ())
    for name, field in node.get("properties", {}).items():
        where = f"{path}.{name}"
        star = "" if name in required else " (optional)"
        yield f"`{where}`", _type_of(field) + star, field.get("description", "")
        yield from _rows(field, where)
        yield from _rows(field.get("items", {}), f"{where}[]")


def _type_of(field: Schema) -> str:
    if "enum" in field:
        return " · ".join(f"`{word}`" for word in field["enum"])
    kind = "map" if "additionalProperties" in field else field.get("format") or field.get("type", "amount")
    return _TYPES.get(kind, kind).format(**field)


def _rules(node: object, path: str) -> Iterator[str]:
    """Yield each rule of a schema with the field that it blames, the outermost first."""
    if not isinstance(node, dict):
        return
    for rule in node.get("x-kubernetes-validations", ()):
        where = f"{path}{rule.get('fieldPath', '')}".lstrip(".")
        message = rule["message"].replace("<", r"\<")
        yield f"`{where}`: {message}"
    for name, field in node.get("properties", {}).items():
        yield from _rules(field, f"{path}.{name}")
    yield from _rules(node.get("items"), f"{path}[]")
    yield from _rules(node.get("additionalProperties"), f"{path}.*")


def _default_steps_chapter() -> str:
    table = _table(default_steps.HEADER, default_steps.rows())
    return "\n".join(
        ["## Default steps of an InferenceRollout", "", default_steps.INTRODUCTION, "", *table, ""]
    )


def _profiles_chapter() -> str:
    header = ("profile", "warm-up", "stages (clients x requests)", "gate", "prompts", "answers")
    rows = []
    for name, profile in BUILT_IN_PROFILES.items():
        mix = ", ".join(f"{part.share} of {part.tokens:,}" for part in profile.prompt.mix)
        stages = ", ".join(f"{stage.concurrency} x {stage.requests:,}" for stage in profile.stages)
        rows.append(
            (
                f"`{name}`",
                f"{profile.warm_up.concurrency} x {profile.warm_up.requests}",
                stages,
                f"`{profile.gate_stage}`",
                f"{mix or profile.prompt.tokens} tokens",
                f"{profile.output.tokens} tokens",
            )
        )
    return "\n".join(["## Built-in load profiles", "", *_table(header, rows), ""])


def _words_chapter() -> str:
    conditions = [(f"`{word}`", word.meaning) for word in ConditionType]
    reasons = [(f"`{word}`", word.meaning) for word in Reason]
    return "\n".join(
        [
            "## Conditions of an InferenceRollout",
            "",
            *_table(("condition", "True means"), conditions),
            "",
            "## Reasons",
            "",
            *_table(("reason", "meaning"), reasons),
            "",
            "## Answers to commands",
            "",
            *_table(("reason", "meaning"), [(f"`{word}`", word.meaning) for word in CommandReason]),
            "",
        ]
    )


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [header, tuple("---" for _ in header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
