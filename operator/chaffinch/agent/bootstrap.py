"""The configuration that Envoy starts with: where its files are, and nothing of the route.

Everything else arrives through the files, so the bootstrap of a running router never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

STATS_PREFIXES = ("http.ingress.", "cluster_manager.", "listener_manager.", "server.", "filesystem.")
STATS_SUFFIXES = (".upstream_rq_active", ".upstream_rq_pending_active")
"""With those above, the only statistics that Envoy keeps: those that the agent asks for."""

_CONNECTION_LIMIT = {
    "name": "envoy.resource_monitors.global_downstream_max_connections",
    "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3"
        ".DownstreamConnectionsConfig",
        "max_active_downstream_connections": 50_000,
    },
}


@dataclass(frozen=True, slots=True)
class EnvoyPaths:
    """Where Envoy and its agent meet: one folder for configuration, one for the log.

    Attributes:
        config: The folder of bootstrap, xDS files and the admin socket.
        log: The folder of the access log, which may fill up without harm to the configuration.
    """

    config: Path
    log: Path

    @property
    def bootstrap(self) -> Path:
        """The file that Envoy is started with."""
        return self.config / "bootstrap.json"

    @property
    def admin(self) -> Path:
        """The unix socket of Envoy's admin interface."""
        return self.config / "admin.sock"

    @property
    def clusters(self) -> Path:
        """The file of clusters (CDS)."""
        return self.config / "cds.json"

    @property
    def listeners(self) -> Path:
        """The file of listeners (LDS)."""
        return self.config / "lds.json"

    @property
    def routes(self) -> Path:
        """The file of the one route configuration (RDS)."""
        return self.config / "rds.json"

    def endpoints(self, revision: str) -> Path:
        """The file of a revision's endpoints (EDS)."""
        return self.config / f"eds-{revision}.json"

    @property
    def access_log(self) -> Path:
        """The file that Envoy appends to."""
        return self.log / "access.log"


def bootstrap(paths: EnvoyPaths, node: str) -> dict[str, Any]:
    """Return Envoy's bootstrap.

    Args:
        paths: Where the files are.
        node: The name that Envoy reports as its own: the router pod's.
    """
    return {
        "node": {"id": node, "cluster": "chaffinch-router"},
        # A unix socket, because the admin interface can do anything and asks for no password.
        "admin": {"address": {"pipe": {"path": str(paths.admin), "mode": 0o600}}},
        "dynamic_resources": {
            "cds_config": config_source(paths, paths.clusters),
            "lds_config": config_source(paths, paths.listeners),
        },
        "overload_manager": {"resource_monitors": [_CONNECTION_LIMIT]},
        "stats_config": {
            "stats_matcher": {
                "inclusion_list": {
                    "patterns": [
                        *({"prefix": prefix} for prefix in STATS_PREFIXES),
                        *({"suffix": suffix} for suffix in STATS_SUFFIXES),
                    ]
                }
            }
        },
    }


def config_source(paths: EnvoyPaths, file: Path) -> dict[str, Any]:
    """Return the reference to an xDS file; a rename into its folder makes Envoy read it again."""
    return {
        "resource_api_version": "V3",
        "path_config_source": {"path": str(file), "watched_directory": {"path": str(paths.config)}},
    }
