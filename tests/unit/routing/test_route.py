from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from chaffinch.api.v1alpha1.attempt_status import DecisionKind
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.route import RouteArm, RouteDecision, RouteIntent
from chaffinch.routing.intent import to_route, to_stored
from chaffinch.routing.route import Route, RouteError, parse_route, route_json

TEXT = (
    '{"arms":[{"pods":null,"revision":"58be2000","weight":9500},{"pods":["chat-2"],"revision":"7c9f1000","weight":500}],'
    '"attempt":3,"decision":{"at":"2026-01-02T03:04:05Z","cause":"ObjectiveFailed","kind":"Rollback"},'
    '"edges":{"e2e":[7],"ttft":[1,2]},"epoch":2,"rollout":"chat","rolloutNamespace":"llm","rolloutUid":"u-1",'
    '"sequence":5,"stable":"58be2000","version":1}'
)
ROLLOUT = RolloutIdentity("llm", "chat", "u-1")
INTENT = RouteIntent(
    attempt=3,
    stable="58be2000",
    arms=(RouteArm("58be2000", 9_500), RouteArm("7c9f1000", 500, ("chat-2",))),
    decision=RouteDecision(
        DecisionKind.ROLLBACK, "ObjectiveFailed", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    ),
    ttft_edges=(1, 2),
    e2e_edges=(7,),
)


def test_an_intent_becomes_canonical_text_and_back() -> None:
    route = to_route(INTENT, ROLLOUT, epoch=2, sequence=5)
    assert route_json(route) == TEXT
    stored = to_stored(parse_route(TEXT), "42")
    assert (stored.epoch, stored.sequence, stored.resource_version, stored.intent) == (2, 5, "42", INTENT)


def test_an_intent_without_stable_and_decision_becomes_text_and_back() -> None:
    first = RouteIntent(attempt=1, stable=None, arms=(), decision=None)
    route = parse_route(route_json(to_route(first, ROLLOUT, epoch=0, sequence=1)))
    assert to_stored(route, "1").intent == first


def test_routes_are_ordered_by_epoch_and_then_by_sequence() -> None:
    assert to_route(INTENT, ROLLOUT, 3, 1).order > to_route(INTENT, ROLLOUT, 2, 9).order


def changed(**changes: object) -> str:
    return json.dumps({**json.loads(TEXT), **changes})


ARM = {"revision": "58be2000", "weight": 10_000}

INVALID: dict[str, tuple[str, str]] = {
    "no JSON": ("epoch: 1", "route: Invalid JSON"),
    "no object": ("[]", "route: Input should be an object"),
    "an unknown version": (changed(version=2), "version: Input should be 1"),
    "an unknown key": (changed(mirror=50), "mirror: Extra inputs are not permitted"),
    "a missing key": (TEXT.replace('"sequence":5,', ""), "sequence: Field required"),
    "a number as text": (changed(epoch="2"), "epoch: Input should be a valid integer"),
    "a negative sequence": (changed(sequence=-1), "sequence: Input should be greater than or equal to 0"),
    "a fraction of a weight": (
        changed(arms=[{**ARM, "weight": 1.5}]),
        "arms.0.weight: Input should be a valid integer",
    ),
    "a revision of another form": (
        changed(arms=[{**ARM, "revision": "V1"}]),
        "arms.0.revision: String should match",
    ),
    "weights that do not add up": (changed(arms=[{**ARM, "weight": 9_999}]), "must add up to 10000, or to 0"),
    "a revision that is named twice": (
        changed(arms=[{**ARM, "weight": 5_000}, {**ARM, "weight": 5_000}]),
        "each revision may be named once",
    ),
    "edges that fall": (changed(edges={"ttft": [2, 1], "e2e": []}), "edges: Value error, edges must rise"),
    "an edge beyond the grid": (
        changed(edges={"ttft": [547], "e2e": []}),
        "edges.ttft.0: Input should be less than",
    ),
    "an unknown decision": (
        changed(decision={"kind": "Pause", "cause": "x", "at": "2026-01-02T03:04:05Z"}),
        "decision.kind: Input should be",
    ),
    "a time without a zone": (
        changed(decision={"kind": "Promote", "cause": "x", "at": "2026-01-02T03:04:05"}),
        "decision.at: Input should have timezone info",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_a_route_is_refused_for(name: str) -> None:
    text, message = INVALID[name]
    with pytest.raises(RouteError) as refused:
        parse_route(text)
    assert message in str(refused.value)


def test_a_route_cannot_be_changed() -> None:
    route: Route = parse_route(TEXT)
    with pytest.raises(ValueError, match="frozen"):
        route.epoch = 3  # type: ignore[misc]
