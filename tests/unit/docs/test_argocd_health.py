"""The health script for Argo CD, run by the version of Lua that Argo CD has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from argocd import health_of


def _condition(kind: str, status: str, reason: str = "AsExpected", generation: int = 2) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": f"{kind}: {reason}",
        "observedGeneration": generation,
    }


def _health(status: Mapping[str, Any] | None) -> tuple[str, str]:
    return health_of({"metadata": {"generation": 2}, **({"status": status} if status is not None else {})})


def _status(*conditions: Mapping[str, Any], observed: int = 2) -> dict[str, Any]:
    return {"observedGeneration": observed, "conditions": list(conditions)}


NOBODY_LOOKED = "Nobody has looked at this generation yet."


@pytest.mark.parametrize(
    ("status", "health"),
    [
        (None, ("Progressing", NOBODY_LOOKED)),
        ({}, ("Progressing", NOBODY_LOOKED)),
        ({"phase": "Unheard"}, ("Progressing", NOBODY_LOOKED)),
        (_status(), ("Progressing", NOBODY_LOOKED)),
        (_status(_condition("Ready", "True"), observed=1), ("Progressing", NOBODY_LOOKED)),
        (_status(_condition("Ready", "True", generation=1)), ("Progressing", NOBODY_LOOKED)),
        (_status(_condition("Ready", "True", "Promoted")), ("Healthy", "Ready: Promoted")),
        (
            _status(_condition("Ready", "False"), _condition("Reconciling", "True", "Stepping")),
            ("Progressing", "Reconciling: Stepping"),
        ),
        (
            _status(_condition("Ready", "False"), _condition("Reconciling", "True", "AwaitingApproval")),
            ("Suspended", "Reconciling: AwaitingApproval"),
        ),
        (
            _status(_condition("Ready", "False"), _condition("Reconciling", "True", "Paused")),
            ("Suspended", "Reconciling: Paused"),
        ),
        (
            _status(_condition("Ready", "False"), _condition("Stalled", "True", "RolledBack")),
            ("Degraded", "Stalled: RolledBack"),
        ),
    ],
)
def test_health_says_what_the_conditions_say_of_this_generation(
    status: Mapping[str, Any] | None, health: tuple[str, str]
) -> None:
    assert _health(status) == health
