from __future__ import annotations

from typing import Any

import pytest

from chaffinch.agent.endpoints import Endpoint, admitted, ready_endpoints

REVISION = "aaaaaaaa"


def piece(*endpoints: dict[str, Any], service: str = f"chat-{REVISION}", **changes: object) -> dict[str, Any]:
    return {
        "metadata": {"name": "any", "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8000, "protocol": "TCP"}],
        "endpoints": list(endpoints),
        **changes,
    }


def entry(pod: str, address: str = "10.0.0.1", **conditions: bool) -> dict[str, Any]:
    return {
        "addresses": [address],
        "conditions": {"ready": True} | conditions,
        "targetRef": {"kind": "Pod", "name": pod},
    }


READY = Endpoint("pod-0", "10.0.0.1", 8000)

CASES: dict[str, tuple[list[dict[str, Any]], tuple[Endpoint, ...]]] = {
    "no slice": ([], ()),
    "a Ready pod": ([piece(entry("pod-0"))], (READY,)),
    "a pod whose readiness is not known": ([piece({**entry("pod-0"), "conditions": {}})], (READY,)),
    "a pod that is not Ready": ([piece(entry("pod-0", ready=False))], ()),
    "a pod that ends and still serves": (
        [piece(entry("pod-0", ready=False, serving=True, terminating=True))],
        (),
    ),
    "several slices, sorted by pod": (
        [piece(entry("pod-1", "10.0.0.2")), piece(entry("pod-0"))],
        (READY, Endpoint("pod-1", "10.0.0.2", 8000)),
    ),
    "both address families": (
        [piece(entry("pod-0")), piece(entry("pod-0", "fd00::1"), addressType="IPv6")],
        (READY,),
    ),
    "another Service": ([piece(entry("pod-0"), service="chat")], ()),
    "another rollout with a longer name": ([piece(entry("pod-0"), service=f"chat-chat-{REVISION}")], ()),
    "an endpoint that is no pod": (
        [piece({**entry("pod-0"), "targetRef": {"kind": "Node", "name": "n"}})],
        (),
    ),
    "an endpoint without a target": ([piece({"addresses": ["10.0.0.1"]})], ()),
    "a pod without a name": ([piece({**entry("pod-0"), "targetRef": {"kind": "Pod"}})], ()),
    "a slice for all ports": ([piece(entry("pod-0"), ports=[{"name": "", "port": None}])], ()),
    "a port of another protocol": ([piece(entry("pod-0"), ports=[{"port": 8000, "protocol": "UDP"}])], ()),
    "a slice of names": ([piece(entry("pod-0", "pod-0.example"), addressType="FQDN")], ()),
    "no ports yet": ([piece(entry("pod-0"), ports=None)], ()),
    "no endpoints yet": ([piece(endpoints=None)], ()),
    "no labels": ([{**piece(entry("pod-0")), "metadata": {"labels": None}}], ()),
}


@pytest.mark.parametrize("name", CASES)
def test_ready_endpoints_of(name: str) -> None:
    slices, want = CASES[name]
    assert ready_endpoints(slices, "chat", [REVISION]) == {REVISION: want}


def test_only_admitted_pods_get_traffic() -> None:
    both = (READY, Endpoint("pod-1", "10.0.0.2", 8000))
    assert admitted(both, None) == both
    assert admitted(both, ("pod-0", "pod-9")) == (READY,)
    assert admitted(both, ()) == ()
