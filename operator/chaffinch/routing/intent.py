"""Between the domain's intent and the document that the router reads."""

from __future__ import annotations

from typing import Literal

from chaffinch.api.v1alpha1.attempt_status import DecisionKind
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.route import EndKind, RouteArm, RouteDecision, RouteIntent, StoredRoute
from chaffinch.routing.route import Arm, Decision, Edges, Route


def to_route(intent: RouteIntent, rollout: RolloutIdentity, epoch: int, sequence: int) -> Route:
    """Return the document for an intent.

    Args:
        intent: What shall be served.
        rollout: Whose router it is for.
        epoch: The lease epoch of the writer.
        sequence: The number of this content.
    """
    return Route(
        rollout_namespace=rollout.namespace,
        rollout=rollout.name,
        rollout_uid=rollout.uid,
        epoch=epoch,
        sequence=sequence,
        attempt=intent.attempt,
        stable=intent.stable,
        arms=tuple(Arm(revision=arm.revision, weight=arm.weight, pods=arm.pods) for arm in intent.arms),
        edges=Edges(ttft=intent.ttft_edges, e2e=intent.e2e_edges),
        decision=_document_of(intent.decision),
    )


def to_stored(route: Route, resource_version: str) -> StoredRoute:
    """Return a document as the domain sees it; the inverse of :func:`to_route`."""
    return StoredRoute(
        epoch=route.epoch,
        sequence=route.sequence,
        resource_version=resource_version,
        intent=RouteIntent(
            attempt=route.attempt,
            stable=route.stable,
            arms=tuple(RouteArm(arm.revision, arm.weight, arm.pods) for arm in route.arms),
            decision=_value_of(route.decision),
            ttft_edges=route.edges.ttft,
            e2e_edges=route.edges.e2e,
        ),
    )


def _document_of(decision: RouteDecision | None) -> Decision | None:
    if decision is None:
        return None
    kind: Literal["Promote", "Rollback"] = "Promote" if decision.kind is DecisionKind.PROMOTE else "Rollback"
    return Decision(kind=kind, cause=decision.cause, at=decision.at)


def _value_of(decision: Decision | None) -> RouteDecision | None:
    if decision is None:
        return None
    kind: EndKind = DecisionKind.PROMOTE if decision.kind == "Promote" else DecisionKind.ROLLBACK
    return RouteDecision(kind, decision.cause, decision.at)
