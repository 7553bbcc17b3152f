"""Case C38: what no version of a rollout may say, whatever the one before said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from crash.rollouts import FIRST, GOOD, revision, service
from crash.versions import broken_laws, ready_generations

TOO_EARLY = "Ready is said of a generation whose revision does not serve"
BESIDE = "Stalled is said beside Ready or Reconciling"


def told(kind: str, status: str, generation: int | None = 2) -> dict[str, Any]:
    """Return a condition; one without a generation if that is None."""
    about = {} if generation is None else {"observedGeneration": generation}
    return {"type": kind, "status": status, "reason": "Any", "message": "any", **about}


def version(
    generation: int, *conditions: Mapping[str, Any], stable: int, observed: int = 2
) -> dict[str, Any]:
    """Return a version of a rollout whose generations are the versions of the service."""
    body = service("shop", generation).manifest()
    body["metadata"] |= {"generation": generation, "resourceVersion": str(generation)}
    status = {
        "observedGeneration": observed,
        "conditions": list(conditions),
        "stable": {"revision": revision(stable)},
    }
    return {**body, "status": status}


@pytest.mark.parametrize(
    ("second", "law"),
    [
        (version(2, told("Ready", "True"), told("Stalled", "False"), stable=GOOD), None),
        (version(2, told("Ready", "True", 1), stable=FIRST, observed=1), None),
        (version(2, told("Ready", "False"), told("Reconciling", "True"), stable=FIRST), None),
        (version(2, told("Ready", "True"), stable=FIRST), TOO_EARLY),
        (version(2, told("Ready", "True"), told("Stalled", "True"), stable=GOOD), BESIDE),
        (version(2, told("Stalled", "True"), told("Reconciling", "True"), stable=GOOD), BESIDE),
        (
            version(2, told("Ready", "False", None), stable=FIRST),
            "Ready does not say which generation it is about",
        ),
        (
            version(2, told("Ready", "False", 3), stable=FIRST),
            "Ready does not say which generation it is about",
        ),
    ],
)
def test_a_version_that_says_too_much_is_found(second: dict[str, Any], law: str | None) -> None:
    first = version(1, told("Ready", "True", 1), stable=FIRST, observed=1)
    found = [line.partition(": ")[2] for line in broken_laws([first, second])]
    assert found[:1] == ([] if law is None else [law])


def test_generations_that_were_called_ready_are_found() -> None:
    versions = [
        version(1, told("Ready", "True", 1), stable=FIRST, observed=1),
        version(2, told("Ready", "False"), stable=FIRST),
    ]
    assert ready_generations(versions) == {1}
