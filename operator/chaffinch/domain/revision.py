"""Names a revision after what makes it: the canonical form of model, engine and pod, and its hash.

Two specs that mean the same have the same canonical form: amounts are numbers (``1000m`` is ``1``,
``1024Mi`` is ``1Gi``), what is empty is absent, keys are sorted, and lists that are keyed by name are
ordered by it. The order of arguments stays, for an engine may heed it. Labels, replicas, objectives and
the strategy are not part of it.

The form carries a version. A later operator that writes another form keeps hashing by the version that a
rollout's revisions were made with, so that an upgrade starts no rollout.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from chaffinch.api.v1alpha1.quantities import resource_amount
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec

HASH_VERSION = 1
_AMOUNT_MAPS = frozenset({"limits", "requests"})
_AMOUNTS = frozenset({"shmSize"})
_NUMBERS = frozenset({"gpuMemoryUtilization"})
_KEYED_BY_NAME = frozenset({"env", "imagePullSecrets"})


def revision_of(spec: InferenceRolloutSpec) -> str:
    """Return the revision that a spec stands for: 8 hexadecimal digits."""
    text = json.dumps(canonical(spec), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def canonical(spec: InferenceRolloutSpec) -> dict[str, Any]:
    """Return the canonical form of what makes a revision: version, model, engine and pod."""
    parts = {"model": spec.model, "engine": spec.engine, "pod": spec.pod}
    written = {
        name: part.model_dump(mode="json", by_alias=True, exclude_none=True)
        for name, part in parts.items()
        if part is not None
    }
    return {"version": HASH_VERSION, **_canonical_map("", written)}


def written(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a user may write for a canonical form: ``canonical`` of it is that form again.

    Args:
        form: What :func:`canonical` returned; an exact share such as ``1/2`` stands in it for ``500m``.
    """
    return {name: _written(name, part) for name, part in form.items() if name != "version"}


def _written(key: str, value: object) -> Any:  # noqa: ANN401 - a value of JSON
    if isinstance(value, Mapping):
        return {name: _written(key if key in _AMOUNT_MAPS else name, entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_written("", item) for item in value]
    if isinstance(value, str) and "/" in value and key in _AMOUNT_MAPS | _AMOUNTS:
        return f"{_decimal(Fraction(value) * 1000)}m"
    return _decimal(Fraction(value)) if key in _NUMBERS and isinstance(value, str) else value


def _decimal(number: Fraction) -> str:
    return f"{Decimal(number.numerator) / Decimal(number.denominator):f}"


def _canonical(key: str, value: object) -> object:
    if isinstance(value, Mapping):
        return _canonical_map(key, value)
    if isinstance(value, list):
        items = [_canonical("", item) for item in value]
        return sorted(items, key=_name) if key in _KEYED_BY_NAME else items
    if key in _AMOUNTS and isinstance(value, int | str):
        return str(resource_amount(value))
    return str(Fraction(value)) if key in _NUMBERS and isinstance(value, str) else value


def _canonical_map(key: str, value: Mapping[str, object]) -> dict[str, object]:
    if key in _AMOUNT_MAPS:
        return {name: str(resource_amount(str(amount))) for name, amount in sorted(value.items())}
    entries = {name: _canonical(name, entry) for name, entry in sorted(value.items())}
    return {name: entry for name, entry in entries.items() if entry not in ({}, [])}


def _name(item: object) -> str:
    return str(item["name"]) if isinstance(item, Mapping) else ""
