"""(route, endpoints) to Envoy's configuration, as a pure function.

One cluster per revision, named by it, so that Envoy's own log says which revision answered. New
requests are split by weight; running ones stay where they are. Nothing times out but a connection
attempt and a stream that has been silent for a quarter of an hour, and nothing is retried: a retry
would hide a failing canary, and could make an engine generate twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaffinch.agent.accesslog import FORMAT, PROGRESS_SECONDS
from chaffinch.agent.bootstrap import EnvoyPaths, config_source
from chaffinch.agent.endpoints import Endpoint, Endpoints, admitted
from chaffinch.agent.split import effective_weights
from chaffinch.routing.route import Route

REVISION_HEADER = "x-chaffinch-revision"
SILENCE_SECONDS = 900
"""A stream without a byte in either direction for this long is given up."""
_UNLIMITED = 1_000_000
_TYPE = "type.googleapis.com/envoy"


@dataclass(frozen=True, slots=True)
class Document:
    """One xDS file.

    Attributes:
        path: Where it belongs.
        version: A digest of its resources; Envoy reports the version that it has taken over.
        text: Its content.
    """

    path: Path
    version: str
    text: str


@dataclass(frozen=True, slots=True)
class Translation:
    """Envoy's configuration for one route and set of endpoints.

    Attributes:
        weights: The effective weight of each arm in 1/10,000.
        ready: How many Ready, admitted endpoints each arm has.
        endpoints: The EDS file of each arm.
        clusters: The CDS file.
        routes: The RDS file.
        listeners: The LDS file.
    """

    weights: Mapping[str, int]
    ready: Mapping[str, int]
    endpoints: Mapping[str, Document]
    clusters: Document
    routes: Document
    listeners: Document


def translate(route: Route, endpoints: Endpoints, paths: EnvoyPaths, port: int) -> Translation:
    """Return Envoy's configuration for a route.

    Args:
        route: What shall be served.
        endpoints: The Ready endpoints of each revision.
        paths: Where the files are.
        port: The port that Envoy listens on.
    """
    usable = {arm.revision: admitted(endpoints.get(arm.revision, ()), arm.pods) for arm in route.arms}
    alive = [revision for revision, pods in usable.items() if pods]
    weights = effective_weights(route.arms, route.stable, alive)
    return Translation(
        weights=weights,
        ready={revision: len(pods) for revision, pods in usable.items()},
        endpoints={
            revision: _document(paths.endpoints(revision), [_assignment(revision, pods)])
            for revision, pods in usable.items()
        },
        clusters=clusters(usable, paths),
        routes=_document(paths.routes, [_routes(route.attempt, weights)]),
        listeners=_document(paths.listeners, [_listener(paths, port)]),
    )


def clusters(revisions: Iterable[str], paths: EnvoyPaths) -> Document:
    """Return the CDS file for these revisions."""
    return _document(paths.clusters, [_cluster(revision, paths) for revision in sorted(revisions)])


def empty_files(paths: EnvoyPaths) -> tuple[Document, ...]:
    """Return files that let Envoy start before there is a route: no listener, so it is not ready."""
    return (_document(paths.clusters, []), _document(paths.listeners, []))


def _document(path: Path, resources: list[dict[str, Any]]) -> Document:
    version = hashlib.sha256(_json(resources).encode()).hexdigest()[:16]
    return Document(path, version, _json({"version_info": version, "resources": resources}))


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _cluster(revision: str, paths: EnvoyPaths) -> dict[str, Any]:
    thresholds = dict.fromkeys(
        ("max_connections", "max_pending_requests", "max_requests", "max_retries"), _UNLIMITED
    )
    return {
        "@type": f"{_TYPE}.config.cluster.v3.Cluster",
        "name": revision,
        "type": "EDS",
        "eds_cluster_config": {"eds_config": config_source(paths, paths.endpoints(revision))},
        "connect_timeout": "2s",
        "lb_policy": "LEAST_REQUEST",
        "common_lb_config": {"healthy_panic_threshold": {"value": 0}},
        "circuit_breakers": {"thresholds": [{"priority": "DEFAULT", **thresholds}]},
        "upstream_connection_options": {
            "tcp_keepalive": {"keepalive_time": 30, "keepalive_interval": 10, "keepalive_probes": 3}
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": f"{_TYPE}.extensions.upstreams.http.v3.HttpProtocolOptions",
                # A request sent into a connection that its engine is just closing fails without any
                # fault of the revision, and nothing is retried. Engines close idle connections after
                # 5 s (uvicorn), or at once when they end or have been stalled, so none is used twice.
                # A new connection within the cluster takes a fraction of a millisecond.
                "common_http_protocol_options": {"max_requests_per_connection": 1},
                "explicit_http_config": {"http_protocol_options": {}},
            }
        },
    }


def _assignment(revision: str, pods: tuple[Endpoint, ...]) -> dict[str, Any]:
    addresses = [{"address": endpoint.address, "port_value": endpoint.port} for endpoint in pods]
    return {
        "@type": f"{_TYPE}.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": revision,
        "endpoints": [
            {"lb_endpoints": [{"endpoint": {"address": {"socket_address": at}}} for at in addresses]}
        ],
    }


def _routes(attempt: int, weights: Mapping[str, int]) -> dict[str, Any]:
    served = {revision: weight for revision, weight in weights.items() if weight}
    action: dict[str, Any] = {"route": _split(served)} if served else {"direct_response": _NOTHING_SERVES}
    return {
        "@type": f"{_TYPE}.config.route.v3.RouteConfiguration",
        "name": "ingress",
        "request_headers_to_remove": [REVISION_HEADER],
        "virtual_hosts": [
            {
                "name": "ingress",
                "domains": ["*"],
                # The route's name carries the attempt into the log, so that a request is counted for
                # the attempt that sent it, however late its end is logged.
                "routes": [{"name": str(attempt), "match": {"prefix": "/"}, **action}],
            }
        ],
    }


_NOTHING_SERVES = {"status": 503, "body": {"inline_string": "no revision is serving\n"}}


def _split(weights: Mapping[str, int]) -> dict[str, Any]:
    return {
        "timeout": "0s",
        "weighted_clusters": {
            "clusters": [
                {
                    "name": revision,
                    "weight": weight,
                    "response_headers_to_add": [
                        {
                            "header": {"key": REVISION_HEADER, "value": revision},
                            "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
                        }
                    ],
                }
                for revision, weight in weights.items()
            ]
        },
    }


def _listener(paths: EnvoyPaths, port: int) -> dict[str, Any]:
    return {
        "@type": f"{_TYPE}.config.listener.v3.Listener",
        "name": "ingress",
        "address": {"socket_address": {"address": "0.0.0.0", "port_value": port}},
        "filter_chains": [
            {
                "filters": [
                    {
                        "name": "envoy.filters.network.http_connection_manager",
                        "typed_config": _connection_manager(paths),
                    }
                ]
            }
        ],
    }


def _connection_manager(paths: EnvoyPaths) -> dict[str, Any]:
    package = f"{_TYPE}.extensions.filters"
    return {
        "@type": f"{package}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "ingress",
        "rds": {"route_config_name": "ingress", "config_source": config_source(paths, paths.routes)},
        "use_remote_address": True,
        # No client is internal: otherwise x-envoy-* headers of any pod could set timeouts and retries.
        # An empty list would mean all private addresses, so it names one that no client can have.
        "internal_address_config": {"cidr_ranges": [{"address_prefix": "255.255.255.255", "prefix_len": 32}]},
        "preserve_external_request_id": True,
        "server_header_transformation": "PASS_THROUGH",
        "request_headers_timeout": "30s",
        "stream_idle_timeout": f"{SILENCE_SECONDS}s",
        "common_http_protocol_options": {"idle_timeout": "300s"},
        "access_log": [
            {
                "name": "envoy.access_loggers.file",
                "typed_config": {
                    "@type": f"{_TYPE}.extensions.access_loggers.file.v3.FileAccessLog",
                    "path": str(paths.access_log),
                    "log_format": {"json_format": FORMAT},
                },
            }
        ],
        "access_log_options": {
            "flush_access_log_on_new_request": True,
            "access_log_flush_interval": f"{PROGRESS_SECONDS}s",
        },
        "http_filters": [
            {
                "name": "envoy.filters.http.router",
                "typed_config": {
                    "@type": f"{package}.http.router.v3.Router",
                    "suppress_envoy_headers": True,
                },
            }
        ],
    }
