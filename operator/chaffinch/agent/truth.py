"""What the agent has last accepted: the route and the endpoints that it serves, kept on disk.

The file lives on the pod's memory volume, so a restarted container goes on where the last one was,
whether the API server can be asked or not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from chaffinch.agent.endpoints import Endpoint, Endpoints
from chaffinch.agent.files import write_atomically
from chaffinch.routing.route import Route, RouteError, parse_route, route_json


@dataclass(frozen=True, slots=True)
class Truth:
    """A route with the Ready endpoints of its revisions."""

    route: Route
    endpoints: Endpoints


def refusal(route: Route, rollout_uid: str, accepted: Route | None) -> str | None:
    """Say why a route must not be served; None if it may.

    Args:
        route: The route that the ConfigMap holds now.
        rollout_uid: The rollout that this router belongs to.
        accepted: The route that was accepted last.
    """
    if route.rollout_uid != rollout_uid:
        return "it belongs to another rollout"
    if accepted is not None and route.order < accepted.order:
        return "it is older than the one that is served"
    return None


def save(truth: Truth, path: Path) -> None:
    """Keep what was accepted."""
    endpoints = {
        revision: [[endpoint.pod, endpoint.address, endpoint.port] for endpoint in pods]
        for revision, pods in truth.endpoints.items()
    }
    write_atomically(path, json.dumps({"route": route_json(truth.route), "endpoints": endpoints}))


def load(path: Path) -> Truth | None:
    """Return what was accepted by the process before this one; None if nothing usable was kept."""
    try:
        kept = json.loads(path.read_text())
        endpoints = {
            revision: tuple(Endpoint(str(pod), str(address), int(port)) for pod, address, port in pods)
            for revision, pods in kept["endpoints"].items()
        }
        return Truth(parse_route(kept["route"]), endpoints)
    except (OSError, RouteError, ValueError, KeyError, TypeError, AttributeError):
        return None
