"""The golden file is rewritten by ``UPDATE_GOLDEN=1``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from chaffinch.agent.bootstrap import EnvoyPaths, bootstrap
from chaffinch.agent.endpoints import Endpoint, Endpoints
from chaffinch.agent.xds import Translation, empty_files, translate
from chaffinch.routing.route import Arm, Route

GOLDEN = Path(__file__).parents[2] / "golden" / "router" / "xds.json"
PATHS = EnvoyPaths(config=Path("/run/chaffinch/config"), log=Path("/run/chaffinch/log"))
STABLE, CANARY = "58be2000", "7c9f1000"
ENDPOINTS: Endpoints = {
    STABLE: (Endpoint("chat-0", "10.0.0.1", 8000), Endpoint("chat-1", "10.0.0.2", 8000)),
    CANARY: (Endpoint("chat-2", "10.0.0.3", 8000), Endpoint("chat-3", "10.0.0.4", 8000)),
}


def translated(endpoints: Endpoints = ENDPOINTS, stable: int = 9_500, canary: int = 500) -> Translation:
    arms = (Arm(revision=STABLE, weight=stable), Arm(revision=CANARY, weight=canary, pods=("chat-2",)))
    return translate(
        Route(
            rollout_namespace="llm",
            rollout="chat",
            rollout_uid="u-1",
            epoch=2,
            sequence=5,
            attempt=3,
            stable=STABLE,
            arms=arms,
        ),
        endpoints,
        PATHS,
        8080,
    )


def documents(translation: Translation) -> dict[str, Any]:
    files = [*translation.endpoints.values(), translation.clusters, translation.routes, translation.listeners]
    return {document.path.name: json.loads(document.text) for document in files}


def routes(translation: Translation) -> dict[str, Any]:
    (resource,) = json.loads(translation.routes.text)["resources"]
    (route,) = resource["virtual_hosts"][0]["routes"]
    return route  # type: ignore[no-any-return]


def test_a_route_becomes_the_golden_configuration() -> None:
    found = {"bootstrap.json": bootstrap(PATHS, "chat-router-0"), **documents(translated())}
    text = json.dumps(found, indent=1, sort_keys=True) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_only_admitted_pods_are_endpoints() -> None:
    assert translated().ready == {STABLE: 2, CANARY: 1}
    assert "10.0.0.4" not in translated().endpoints[CANARY].text


def test_an_arm_without_endpoints_keeps_its_cluster_and_loses_its_weight() -> None:
    dropped = translated({STABLE: ENDPOINTS[STABLE]})
    assert (dropped.weights, dropped.ready) == ({STABLE: 10_000, CANARY: 0}, {STABLE: 2, CANARY: 0})
    (only,) = routes(dropped)["route"]["weighted_clusters"]["clusters"]
    assert (only["name"], only["weight"]) == (STABLE, 10_000)
    assert dropped.clusters == translated().clusters


def test_a_canary_that_dies_with_all_traffic_leaves_it_to_stable() -> None:
    baking = translated({STABLE: ENDPOINTS[STABLE]}, stable=0, canary=10_000)
    assert baking.weights == {STABLE: 10_000, CANARY: 0}
    (only,) = routes(baking)["route"]["weighted_clusters"]["clusters"]
    assert (only["name"], only["weight"]) == (STABLE, 10_000)


def test_with_nothing_to_serve_requests_are_answered_at_once() -> None:
    nothing = translated(stable=0, canary=0)
    assert routes(nothing)["direct_response"]["status"] == 503
    assert "route" not in routes(nothing)


def test_the_route_carries_the_attempt_into_the_log() -> None:
    assert routes(translated())["name"] == "3"


def test_an_unchanged_configuration_has_an_unchanged_version() -> None:
    again = {STABLE: ENDPOINTS[STABLE][:1], CANARY: ENDPOINTS[CANARY]}
    assert translated(again).routes.version == translated().routes.version
    assert translated(again).endpoints[STABLE].version != translated().endpoints[STABLE].version


def test_before_the_first_route_envoy_has_nothing_to_listen_with() -> None:
    assert [json.loads(document.text)["resources"] for document in empty_files(PATHS)] == [[], []]
