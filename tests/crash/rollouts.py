"""The rollouts that the tests run: one service, and versions of it that are as good as it, or slower."""

from __future__ import annotations

from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.revision import revision_of
from stage.service import Service

STEPS = (
    {"name": "warm-up", "warmUp": {"requests": 8, "concurrency": 4}},
    {"name": "probe", "probe": {"profile": "smoke/v1"}},
    {"name": "canary-50", "canary": {"weight": 50, "for": "1s"}},
    {"name": "bake", "bake": {"for": "1s"}},
)
# One objective: of two, the one that is not missed may be looked at once more or less before the end.
# A slow version is slow beside stable (0.4 s and 0.2 s) and still within its limit, so that its probe passes
# and it is rolled back with users on it.
OBJECTIVES = (
    {"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "800ms", "maxRegression": "20%"},
)
SLOW_SECONDS = 0.4

FIRST, GOOD, SLOW = 1, 2, 3
"""Versions of the service."""


def service(namespace: str, version: int) -> Service:
    """Return a version of the service of a namespace."""
    flags = (f"--seed={version}",)
    return Service(namespace, flags=flags, steps=STEPS, objectives=OBJECTIVES, image="localhost/engine:1")


def revision(version: int) -> str:
    """Return the revision that a version becomes, in whatever namespace."""
    return revision_of(parse_rollout(service("any", version).manifest()))
