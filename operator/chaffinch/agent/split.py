"""The split of new requests that a router really makes.

The operator asks for weights; the agent alone sees, within a second, that an arm has lost its last
Ready endpoint. It then drops that arm without asking, because a canary that has died must not take
its share of the users with it.
"""

from __future__ import annotations

from collections.abc import Collection

from chaffinch.routing.route import FULL_WEIGHT, Arm


def effective_weights(arms: tuple[Arm, ...], alive: Collection[str]) -> dict[str, int]:
    """Return the weight of every arm in 1/10,000 once arms that cannot serve are dropped.

    An arm with weight and no Ready endpoint gets 0 and the others keep their proportions, unless
    no arm with weight can serve: then the weights stay as asked for.

    Args:
        arms: The arms of the route; their weights add up to 10,000 or to 0.
        alive: The revisions that have a Ready, admitted endpoint.
    """
    weights = {arm.revision: arm.weight for arm in arms}
    kept = {revision: weight for revision, weight in weights.items() if weight and revision in alive}
    if not kept or len(kept) == sum(weight > 0 for weight in weights.values()):
        return weights
    return dict.fromkeys(weights, 0) | _scaled(kept)


def _scaled(weights: dict[str, int]) -> dict[str, int]:
    # Largest remainder, so that the parts add up to exactly 10,000.
    total = sum(weights.values())
    scaled = {revision: weight * FULL_WEIGHT // total for revision, weight in weights.items()}
    remainders = sorted(weights, key=lambda revision: (-(weights[revision] * FULL_WEIGHT % total), revision))
    for revision in remainders[: FULL_WEIGHT - sum(scaled.values())]:
        scaled[revision] += 1
    return scaled
