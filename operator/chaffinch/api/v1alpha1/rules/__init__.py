"""The rules that go across fields, each once: as CEL for the API server and as a Python predicate.

Rules about a single field (its type, bounds, pattern) are in the models. :data:`RULES` holds the
rules of the models, :data:`OBJECT_RULES` those of whole objects. The CRD generator writes the CEL;
:mod:`chaffinch.api.v1alpha1.parse` asks the predicates; the examples under ``tests/examples``
hold both to the same answers.
"""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.rules import (
    commands,
    engine,
    measurability,
    objectives,
    objects,
    probes,
    steps,
    trust,
)
from chaffinch.api.v1alpha1.rules.rule import ObjectRule, Rule

RULES: tuple[Rule[Any], ...] = (
    *engine.RULES,
    *trust.RULES,
    *objectives.RULES,
    *steps.RULES,
    *measurability.RULES,
    *probes.RULES,
    *commands.RULES,
)
OBJECT_RULES: tuple[ObjectRule[Any], ...] = objects.RULES
