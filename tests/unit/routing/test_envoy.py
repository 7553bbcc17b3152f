"""The golden file is rewritten by ``UPDATE_GOLDEN=1``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from chaffinch.domain.names import RolloutIdentity
from chaffinch.routing.envoy import route_config_map, router_manifests
from chaffinch.routing.route import Arm, Route, parse_route
from chaffinch.routing.settings import RouterSettings

GOLDEN = Path(__file__).parents[2] / "golden" / "router" / "manifests.yaml"
ROLLOUT = RolloutIdentity("llm", "chat", "0b5c9c1e-0000-4000-8000-000000000001")
SETTINGS = RouterSettings(
    agent_image="registry.example/chaffinch:1.0.0",
    envoy_image="registry.example/envoy:1.36.0",
    image_pull_secrets=("registry",),
)
ROUTE = Route(
    rollout_namespace="llm",
    rollout="chat",
    rollout_uid=ROLLOUT.uid,
    epoch=1,
    sequence=1,
    attempt=1,
    arms=(Arm(revision="58be2000", weight=10_000),),
)
ALL = (*router_manifests(ROLLOUT, SETTINGS), route_config_map(ROLLOUT, ROUTE))


def of_kind(kind: str) -> dict[str, Any]:
    return next(manifest for manifest in ALL if manifest["kind"] == kind)


def pod() -> dict[str, Any]:
    return of_kind("Deployment")["spec"]["template"]["spec"]  # type: ignore[no-any-return]


CONTAINERS = (pod()["initContainers"][0], pod()["containers"][0])


def test_the_manifests_are_the_golden_ones() -> None:
    text = yaml.safe_dump_all(ALL, sort_keys=True)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


@pytest.mark.parametrize("manifest", ALL, ids=lambda manifest: manifest["kind"])
def test_every_object_goes_with_its_rollout_and_says_whose_it_is(manifest: dict[str, Any]) -> None:
    metadata = manifest["metadata"]
    assert metadata["namespace"] == "llm"
    assert metadata["labels"] == {
        "app.kubernetes.io/managed-by": "chaffinch",
        "app.kubernetes.io/component": "router",
        "chaffinch.dev/rollout": "chat",
    }
    assert [(owner["uid"], owner["controller"]) for owner in metadata["ownerReferences"]] == [
        (ROLLOUT.uid, True)
    ]


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container["name"])
def test_every_container_passes_the_restricted_pod_security_standard(container: dict[str, Any]) -> None:
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    security = pod()["securityContext"]
    assert (security["runAsNonRoot"], security["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()


def test_only_the_agent_has_a_token() -> None:
    mounts = {c["name"]: [mount["name"] for mount in c["volumeMounts"]] for c in CONTAINERS}
    assert mounts == {"agent": ["config", "log", "token"], "envoy": ["config", "log"]}
    assert pod()["automountServiceAccountToken"] is False


def test_the_agent_may_read_its_own_route_and_endpoint_slices_and_nothing_else() -> None:
    assert of_kind("Role")["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["chat-router"],
            "verbs": ["get", "list", "watch"],
        },
        {
            "apiGroups": ["discovery.k8s.io"],
            "resources": ["endpointslices"],
            "verbs": ["get", "list", "watch"],
        },
    ]


def test_the_pod_outlives_the_longest_drain() -> None:
    assert pod()["terminationGracePeriodSeconds"] > SETTINGS.drain_seconds
    agent, envoy = CONTAINERS
    # The agent starts before Envoy and ends after it.
    assert agent["restartPolicy"] == "Always"
    assert envoy["lifecycle"]["preStop"] == {"httpGet": {"path": "/drained", "port": 9090}}


def test_the_service_leads_to_envoy_and_prometheus_finds_the_agent() -> None:
    (port,) = of_kind("Service")["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (80, "http")
    names = {port["name"]: port["containerPort"] for c in CONTAINERS for port in c["ports"]}
    assert names == {"metrics": 9090, "http": 8080}


def test_the_config_map_carries_the_route() -> None:
    config_map = of_kind("ConfigMap")
    assert config_map["metadata"]["name"] == "chat-router"
    assert parse_route(config_map["data"]["route.json"]) == ROUTE
