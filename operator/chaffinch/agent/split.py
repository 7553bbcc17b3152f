"""The split of new requests that a router really makes.

The operator asks for weights; the agent alone sees, within a second, that an arm has lost its last
Ready endpoint. It then drops that arm without asking, because a canary that has died must not take
its share of the users with it: not even when all of them are on it, in a bake or a promotion, as long
as stable still has an endpoint.
"""

from __future__ import annotations

from collections.abc import Collection

from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.routing.route import Arm


def effective_weights(arms: tuple[Arm, ...], stable: str | None, alive: Collection[str]) -> dict[str, int]:
    """Return the weight of every arm in 1/10,000 once arms that cannot serve are dropped.

    An arm with weight and no Ready endpoint gets 0 and the others keep their proportions. If no arm
    with weight can serve, stable gets everything; if it cannot serve either, the weights stay as
    asked for. A route that asks for nothing to be served is left at that.

    Args:
        arms: The arms of the route; their weights add up to 10,000 or to 0.
        stable: The revision that traffic falls back to, with or without weight; None before there is one.
        alive: The revisions that have a Ready, admitted endpoint.
    """
    weights = {arm.revision: arm.weight for arm in arms}
    asked = {revision: weight for revision, weight in weights.items() if weight}
    kept = {revision: weight for revision, weight in asked.items() if revision in alive}
    if not asked or len(kept) == len(asked):
        return weights
    if kept:
        return dict.fromkeys(weights, 0) | _scaled(kept)
    if stable in weights and stable in alive:
        return dict.fromkeys(weights, 0) | {stable: FULL_WEIGHT}
    return weights


def _scaled(weights: dict[str, int]) -> dict[str, int]:
    # Largest remainder, so that the parts add up to exactly 10,000.
    total = sum(weights.values())
    scaled = {revision: weight * FULL_WEIGHT // total for revision, weight in weights.items()}
    remainders = sorted(weights, key=lambda revision: (-(weights[revision] * FULL_WEIGHT % total), revision))
    for revision in remainders[: FULL_WEIGHT - sum(scaled.values())]:
        scaled[revision] += 1
    return scaled
