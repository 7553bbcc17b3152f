"""Which pods of a revision can be sent requests, read from EndpointSlices.

Slices are used instead of pod objects because they carry readiness as the Service sees it, and
because reading them is all that the agent's Role then has to allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SERVICE_NAME_LABEL = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """One Ready pod: its name, which a replaced pod does not keep, and where it listens."""

    pod: str
    address: str
    port: int


Endpoints = Mapping[str, tuple[Endpoint, ...]]
"""Ready endpoints by revision, sorted by pod name."""


def ready_endpoints(slices: Iterable[Mapping[str, Any]], rollout: str, revisions: Iterable[str]) -> Endpoints:
    """Return the Ready endpoints of each named revision; one without any has an empty tuple.

    Args:
        slices: EndpointSlice objects of the rollout's namespace, of other Services too.
        rollout: The rollout's name; a revision's Service is ``<rollout>-<revision>``.
        revisions: The revisions to look for.
    """
    found: dict[str, dict[str, Endpoint]] = {revision: {} for revision in revisions}
    by_service = {f"{rollout}-{revision}": pods for revision, pods in found.items()}
    # An IPv4 address is preferred to the same pod's IPv6 address: its slice comes last and wins.
    for piece in sorted(slices, key=lambda piece: piece.get("addressType") == "IPv4"):
        service = (piece.get("metadata", {}).get("labels") or {}).get(SERVICE_NAME_LABEL, "")
        pods = by_service.get(service)
        if pods is not None:
            pods.update({endpoint.pod: endpoint for endpoint in _ready_of(piece)})
    return {revision: tuple(sorted(pods.values())) for revision, pods in found.items()}


def _ready_of(piece: Mapping[str, Any]) -> Iterable[Endpoint]:
    # Anyone may make a slice in the namespace: what is incomplete is passed over, never an error.
    if piece.get("addressType") not in {"IPv4", "IPv6"}:
        return
    port = next((port.get("port") for port in piece.get("ports") or () if _is_tcp(port)), None)
    for endpoint in piece.get("endpoints") or ():
        target = endpoint.get("targetRef") or {}
        pod = target.get("name") if target.get("kind") == "Pod" else None
        # The API says that an absent condition is to be read as ready.
        ready = (endpoint.get("conditions") or {}).get("ready") is not False
        if ready and pod and port and endpoint.get("addresses"):
            yield Endpoint(pod, endpoint["addresses"][0], port)


def _is_tcp(port: Mapping[str, Any]) -> bool:
    return bool(port.get("protocol", "TCP") == "TCP")


def admitted(endpoints: tuple[Endpoint, ...], pods: tuple[str, ...] | None) -> tuple[Endpoint, ...]:
    """Return the endpoints whose pods may get traffic; ``pods`` None admits all of them."""
    if pods is None:
        return endpoints
    return tuple(endpoint for endpoint in endpoints if endpoint.pod in pods)
