"""Where a URL may stand in a custom resource: nowhere but where a text is kept and never used."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from examples import Example, valid_examples
from examples.texts import Place, places_of

ONLY_KEPT = {
    "RolloutCommand spec.reason": "told to those who read the record",
    "RolloutCommand spec.requestedBy": "a user's name, compared by the admission policy",
    "RolloutRecord spec.rolloutUid": "compared with uids",
    "RolloutRecord spec.frozen": "shown by the command line; nothing is decided from a record",
    "RolloutRecord spec.plan": "shown by the command line; nothing is decided from a record",
    "InferenceBaseline spec.fingerprint.engineImage": "compared",
    "InferenceBaseline spec.fingerprint.engineVersion": "compared",
    "InferenceBaseline spec.fingerprint.engineArgs[]": "compared",
    "InferenceBaseline spec.fingerprint.gpuProduct": "compared",
}
"""The fields that take any text, by kind, and what becomes of the text: it is no address for anybody."""

_CRDS = Path(__file__).parents[2] / "crds"


@cache
def spec_schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of the spec of each kind, as the CRDs have it."""
    crds = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(_CRDS.glob("*.yaml"))]
    return {
        crd["spec"]["names"]["kind"]: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][
            "spec"
        ]
        for crd in crds
    }


def places() -> Iterator[tuple[Example, Place]]:
    """Yield each place of a text in the valid examples that has no equal before it."""
    seen: set[tuple[str, str, int]] = set()
    for example in valid_examples():
        kind = example.body["kind"]
        for place in places_of(example.body, spec_schemas()[kind]):
            # The first argument has a rule of its own, and hides those for the others.
            rank = min(sum(part for part in place.path if isinstance(part, int)), 1)
            if (kind, place.field, rank) not in seen:
                seen.add((kind, place.field, rank))
                yield example, place
