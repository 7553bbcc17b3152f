"""Writes what a rollout does that names no steps of its own, from the function that resolves them."""

from __future__ import annotations

from collections.abc import Mapping

from chaffinch.api.v1alpha1.rollout import MAX_REPLICAS
from chaffinch.api.v1alpha1.strategy import (
    FULL_WEIGHT,
    BakeStep,
    CanaryStep,
    ProbeStep,
    ResolvedStep,
    WarmUpStep,
    default_steps,
)

HEADER = ("step", "is there", "what", "weight", "`for`", "`require`", "`maxWait`")
INTRODUCTION = """\
What a rollout does that has no `strategy.steps`. To change one of these steps, write all of them. A pod's
share is the weight at which one pod of the canary has as much load as each of stable's."""

_ALL = range(1, MAX_REPLICAS + 1)
_Ladder = Mapping[str, ResolvedStep]


def rows() -> tuple[tuple[str, ...], ...]:
    """Return a row for each step that any rollout has by default, in their order; see :data:`HEADER`."""
    probed = {replicas: _ladder(replicas, with_baseline=True) for replicas in _ALL}
    plain = {replicas: _ladder(replicas, with_baseline=False) for replicas in _ALL}
    longest = max(probed.values(), key=len)
    return tuple(_row(name, probed, plain) for name in longest)


def _ladder(replicas: int, *, with_baseline: bool) -> _Ladder:
    return {step.name: step for step in default_steps(replicas, with_baseline=with_baseline)}


def _row(name: str, probed: Mapping[int, _Ladder], plain: Mapping[int, _Ladder]) -> tuple[str, ...]:
    where = [replicas for replicas in _ALL if name in probed[replicas]]
    steps = [probed[replicas][name] for replicas in where]
    there = "always" if len(where) == len(_ALL) else f"with {where[0]} to {where[-1]} replicas"
    if not any(name in ladder for ladder in plain.values()):
        there = "if a baseline is named"
    weights = [_weight_of(step) for step in steps]
    weight = _percent(weights[0])
    if len(set(weights)) > 1:
        weight = f"a pod's share: {weight} with {where[0]} replicas, {_percent(weights[-1])} with {where[-1]}"
    (details,) = {_details(step, weight) for step in steps}  # one row can tell no more than one
    return (f"`{name}`", there, *details)


def _details(step: ResolvedStep, weight: str) -> tuple[str, ...]:
    match step:
        case WarmUpStep():
            return (
                f"warmUp: {step.requests} requests to each pod, {step.concurrency} at once",
                weight,
                "",
                "",
                "",
            )
        case ProbeStep():
            return f"probe: `{step.profile}`", weight, "", "", ""
        case CanaryStep():
            times = _duration(step.for_seconds), f"`{step.require}`", _duration(step.max_wait_seconds)
            return "canary", weight, *times
        case BakeStep():
            return "bake", weight, _duration(step.for_seconds), "", ""
    raise ValueError(f"{step.name}: nobody is asked for an approval by default")


def _weight_of(step: ResolvedStep) -> int:
    if isinstance(step, CanaryStep):
        return step.weight
    return FULL_WEIGHT if isinstance(step, BakeStep) else 0


def _percent(weight: int) -> str:
    return f"{weight * 100 / FULL_WEIGHT:g} %"


def _duration(seconds: int) -> str:
    return f"{seconds}s" if seconds % 60 else f"{seconds // 60}m"
