"""Builds a CustomResourceDefinition for each kind."""

from __future__ import annotations

from typing import Any

from chaffinch.api.kinds import Column, Kind
from chaffinch.api.schema import Schema, structural_schema
from chaffinch.api.v1alpha1.common import GROUP, VERSION
from chaffinch.api.v1alpha1.rules import OBJECT_RULES


def crd_of(kind: Kind) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [kind.short],
                "categories": ["chaffinch"],
            },
            "scope": "Namespaced",
            "versions": [_version(kind)],
        },
    }


def _version(kind: Kind) -> dict[str, Any]:
    subresources: dict[str, Any] = {} if kind.status is None else {"status": {}}
    if kind.scalable:
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
        "schema": {"openAPIV3Schema": _object_schema(kind)},
    }
    return {**version, "subresources": subresources} if subresources else version


def _object_schema(kind: Kind) -> Schema:
    spec = structural_schema(kind.spec)
    if kind.immutable:
        frozen = {"rule": "self == oldSelf", "message": kind.immutable}
        spec["x-kubernetes-validations"] = [*spec.get("x-kubernetes-validations", ()), frozen]
    properties: Schema = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        # Only what is declared can be blamed by a rule; a name is a DNS subdomain in any case.
        "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 253}}},
        "spec": spec,
    }
    if kind.status is not None:
        properties["status"] = structural_schema(kind.status)
    schema = {
        "type": "object",
        "description": kind.description,
        "required": ["spec"],
        "properties": properties,
    }
    rules = [
        {"rule": rule.cel, "message": rule.message, "fieldPath": f".{rule.field}"}
        for rule in OBJECT_RULES
        if rule.model is kind.spec
    ]
    return {**schema, "x-kubernetes-validations": rules} if rules else schema


def _column(column: Column) -> dict[str, Any]:
    written: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return {**written, "priority": 1} if column.wide else written
