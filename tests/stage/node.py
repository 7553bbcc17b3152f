"""What a node does to pods, brought about on a real one: room that is gone, and pods that have to leave.

The scheduler and the kubelet count a node's room each for itself. They differ where the kubelet runs what
the API server knows nothing of, such as a static pod whose namespace does not exist: the scheduler goes on
sending pods to that room, and the kubelet turns away one after another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from localcluster.api import ApiClient
from localcluster.configs import PAUSE_IMAGE
from localcluster.kubectl import eventually
from localcluster.settings import NODE_NAME, Settings

SEAT = "example.com/seat"
"""A resource that this node has so much of as :func:`seats` says."""

_NODE = f"/api/v1/nodes/{NODE_NAME}"
_SQUATTER = "squatter"
_SECONDS = 40.0  # the kubelet looks at its folder every 20 s, should it miss an event


def seats(api: ApiClient, count: int | None) -> None:
    """Let the node have so many seats; with None it has never heard of them."""
    # Status is merged: a null takes a key away.
    amount = {SEAT: None if count is None else str(count)}
    api.merge(f"{_NODE}/status", {"status": {"capacity": amount, "allocatable": amount}})


@contextmanager
def labelled(api: ApiClient, label: str) -> Iterator[None]:
    """Give the node a label for the length of the block, or until it is taken from it."""
    label_node(api, label, "yes")
    try:
        yield
    finally:
        label_node(api, label, None)


def label_node(api: ApiClient, label: str, value: str | None) -> None:
    """Set a label of the node, or take it away."""
    api.merge(_NODE, {"metadata": {"labels": {label: value}}})


@contextmanager
def squatted(api: ApiClient, settings: Settings, count: int) -> Iterator[None]:
    """Let the kubelet give seats to a pod that the scheduler does not know of, while the block lasts."""
    file = settings.static_pods / f"{_SQUATTER}.json"
    partial = settings.static_pods / f".{_SQUATTER}"  # which the kubelet passes over
    partial.write_text(json.dumps(_squatter(count)))
    partial.replace(file)
    try:
        eventually(lambda: _phase(api) == "Running", _SECONDS, "the kubelet runs the static pod", 0.5)
        yield
    finally:
        file.unlink()
        eventually(lambda: _phase(api) is None, _SECONDS, "the static pod is gone", 0.5)


def evict(api: ApiClient, pod: Mapping[str, Any]) -> None:
    """Ask for a pod's eviction, as ``kubectl drain`` does: its disruption budget has to allow it."""
    metadata = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
    place = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction"
    api.create(place, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata})


def _squatter(count: int) -> dict[str, Any]:
    container = {
        "name": "pause",
        "image": PAUSE_IMAGE,
        "resources": {"limits": {SEAT: str(count)}, "requests": {SEAT: str(count)}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _SQUATTER, "namespace": "there-is-no-such-namespace"},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    }


def _phase(api: ApiClient) -> str | None:
    """Return the phase of the static pod as the kubelet has it; None if it knows of none."""
    pods = api.get(f"{_NODE}/proxy/pods") or {}
    found = [pod for pod in pods.get("items") or () if pod["metadata"]["name"].startswith(_SQUATTER)]
    return found[0]["status"].get("phase") if found else None
