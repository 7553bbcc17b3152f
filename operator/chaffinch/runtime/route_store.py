"""The route's ConfigMap: read, and written only if it is still what the decision was based on.

Writing it is the act of every weight change, promotion and rollback, so it goes through compare-and-swap: a
create for the first one, a replace of the very resource version that was read for every later one.
"""

from __future__ import annotations

from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import RouterPod, RouterSeen
from chaffinch.domain.route import RouteOrder
from chaffinch.ports.cluster import Cluster, Manifest
from chaffinch.routing.envoy import route_config_map
from chaffinch.routing.intent import to_route, to_stored
from chaffinch.routing.route import ROUTE_KEY, RouteError, parse_route


def read_router(config_map: Manifest | None, pods: tuple[RouterPod, ...], uid: str) -> RouterSeen:
    """Return what was seen of the router.

    Args:
        config_map: The ConfigMap, if it exists and is the rollout's.
        pods: The router's pods.
        uid: The rollout's uid; a route of another rollout is unreadable.
    """
    if config_map is None:
        return RouterSeen(pods)
    version = str(config_map["metadata"]["resourceVersion"])
    try:
        route = parse_route(str((config_map.get("data") or {}).get(ROUTE_KEY, "")))
    except RouteError:
        return RouterSeen(pods, unreadable=True, resource_version=version)
    if route.rollout_uid != uid:
        return RouterSeen(pods, unreadable=True, resource_version=version)
    return RouterSeen(pods, to_stored(route, version))


async def write_route(cluster: Cluster, rollout: RolloutIdentity, epoch: int, order: RouteOrder) -> None:
    """Write a route that has changed.

    Args:
        cluster: The API.
        rollout: Whose route it is.
        epoch: The writer's term. A route of a higher epoch may be in use, if the Lease was lost: that
            epoch is written then, for agents refuse a lower one.
        order: What to write.

    Raises:
        ConflictError: If somebody else wrote it since it was read.
        ClusterError: If it could not be written for another reason.
    """
    manifest = route_config_map(
        rollout, to_route(order.intent, rollout, max(epoch, order.epoch), order.sequence)
    )
    if order.resource_version is None:
        await cluster.create(manifest)
    else:
        metadata = {**manifest["metadata"], "resourceVersion": order.resource_version}
        await cluster.replace({**manifest, "metadata": metadata})
