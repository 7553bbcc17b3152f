"""Turns models into structural OpenAPI v3 schemas with CEL rules, as a CRD wants them.

What pydantic writes is JSON Schema; a CRD takes a small part of it: no references, no defaults
here (nothing may appear in a spec that its user did not write), no closed objects (the API server
prunes), and a bound on everything, because each rule is priced by the largest value it may meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from chaffinch.api.v1alpha1.common import SpecModel
from chaffinch.api.v1alpha1.formats import REMEDIES
from chaffinch.api.v1alpha1.rules import RULES
from chaffinch.api.v1alpha1.rules.rule import Rule, raw

Schema = dict[str, Any]

_DROPPED = (
    "title",
    "default",
    "readOnly",
    "$defs",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
)
_FIRST = ("description", "type", "required")
_BOUND_OF_TYPE = {
    "string": ("maxLength", "enum"),
    "array": ("maxItems",),
    "integer": ("maximum",),
}


def structural_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of a spec or status; only specs get rules.

    Raises:
        ValueError: If a part of the model cannot be said structurally, or has no bound.
    """
    document = model.model_json_schema(by_alias=True, mode="serialization")
    definitions = {**document.get("$defs", {}), model.__name__: document}
    return _Translation(definitions, with_rules=issubclass(model, SpecModel)).structural(
        document, model.__name__
    )


@dataclass(frozen=True, slots=True)
class _Translation:
    """The translation of one document.

    Attributes:
        definitions: What references refer to, by the name of the model.
        with_rules: Whether CEL rules are written: the operator's own status needs none.
    """

    definitions: dict[str, Schema]
    with_rules: bool

    def structural(self, node: Schema, where: str) -> Schema:
        """Return a node and all below it as a structural schema; ``where`` is for error messages."""
        name, node = self._resolved(node)
        schema = {key: value for key, value in node.items() if key not in _DROPPED}
        if "description" in schema:
            schema["description"] = " ".join(schema["description"].split())
        if "items" in node:
            schema["items"] = self.structural(node["items"], f"{where}[]")
        if node.get("properties"):
            schema |= self._struct(node, where)
        elif "properties" in node:
            # What is empty is not stored, and what is written otherwise than it is stored makes two who apply
            # the same CRD, such as helm and kubectl, conflict.
            del schema["properties"]
        elif node.get("type") == "object":
            schema["additionalProperties"] = self._map_values(node, where)
        _require_bound(schema, where)
        rules = self._rules(name, node) if self.with_rules else []
        if rules:
            schema["x-kubernetes-validations"] = rules
        return _in_order(schema)

    def _struct(self, node: Schema, where: str) -> Schema:
        properties: Schema = node["properties"]
        computed = {field for field, value in properties.items() if value.get("readOnly")}
        required = [field for field in node.get("required", ()) if field not in computed]
        return {
            "properties": {
                field: self.structural(value, f"{where}.{field}") for field, value in properties.items()
            },
            **({"required": required} if required else {}),
        }

    def _map_values(self, node: Schema, where: str) -> Schema:
        values = [node.get("additionalProperties"), *node.get("patternProperties", {}).values()]
        schemas = [value for value in values if isinstance(value, dict)]
        if len(schemas) != 1 or "maxProperties" not in node:
            raise ValueError(f"{where}: a map needs one type of values and a maxProperties")
        return self.structural(schemas[0], f"{where}{{}}")

    def _resolved(self, node: Schema) -> tuple[str, Schema]:
        """Return a node without references and without "or null", and the name of the model it is."""
        if "x-kubernetes-int-or-string" in node:
            return "", node
        if "anyOf" in node:
            options = [option for option in node["anyOf"] if option.get("type") != "null"]
            if len(options) != 1:
                raise ValueError(f"a CRD has no choice between types: {options}")
            name, inner = self._resolved(options[0])
            return name, {**inner, **{key: value for key, value in node.items() if key != "anyOf"}}
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[1]
            rest = {key: value for key, value in node.items() if key != "$ref"}
            return name, {**self.definitions[name], **rest}
        return node.get("title", "") if "properties" in node else "", node

    def _rules(self, name: str, node: Schema) -> list[Schema]:
        return [
            *_key_rules(node),
            *_format_rules(node),
            *(_cel(rule) for rule in RULES if rule.model.__name__ == name),
        ]


def _in_order(schema: Schema) -> Schema:
    """Return a schema with the keys that people look for first at the front."""
    return {key: schema[key] for key in (*_FIRST, *schema) if key in schema}


def _require_bound(schema: Schema, where: str) -> None:
    bounds = _BOUND_OF_TYPE.get(schema.get("type", ""))
    if bounds and not any(bound in schema for bound in bounds):
        raise ValueError(f"{where}: a {schema['type']} needs one of {', '.join(bounds)}")


def _key_rules(node: Schema) -> list[Schema]:
    length = node.get("propertyNames", {}).get("maxLength")
    return [
        {
            "rule": f"self.all(k, size(k) <= {length} && k.matches({raw(pattern)}))",
            "message": REMEDIES[pattern],
        }
        for pattern in node.get("patternProperties", {})
    ]


def _format_rules(schema: Schema) -> list[Schema]:
    pattern = schema.get("pattern")
    if pattern not in REMEDIES:
        return []
    guard = "type(self) == int || " if "x-kubernetes-int-or-string" in schema else ""
    return [{"rule": f"{guard}self.matches({raw(pattern)})", "message": REMEDIES[pattern]}]


def _cel(rule: Rule[Any]) -> Schema:
    written = {"rule": rule.cel, "message": rule.message}
    return {**written, "fieldPath": rule.field} if rule.field else written
