"""What is wrong with a cluster, in words: first whether its programs run, then whether it answers."""

from __future__ import annotations

import socket
import urllib.request
from typing import TYPE_CHECKING

from localcluster import bootstrap, cleanup
from localcluster import settings as where
from localcluster.api import ApiClient

if TYPE_CHECKING:
    from localcluster.processes import ProcessTable
    from localcluster.settings import Settings

_DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


def missing_parts(settings: Settings, table: ProcessTable) -> tuple[str, ...]:
    """Return which of the parts that `up` made are gone; such a cluster cannot recover by itself."""
    if not (settings.state / cleanup.MARKER).exists():
        return ("it is not up",)
    if not settings.network_namespace.exists():
        return ("its network namespace is gone",)
    running = table.running()
    return tuple(f"{name} is not running" for name in cleanup.marked(settings.state) if name not in running)


def silent_services(settings: Settings) -> tuple[str, ...]:
    """Return which services give no (good) answer now. Call it inside the namespace."""
    api = ApiClient(settings.pki)
    if not api.ready():
        return ("the API server is not ready",)
    try:
        node, account = api.get(bootstrap.NODE_PATH), api.get(_DEFAULT_ACCOUNT)
    except OSError:
        return ("the API server does not answer",)
    checks = {
        "the node is not ready": bootstrap.is_schedulable(node),
        "the default service account is missing": account is not None,
        "Service addresses do not work": _connects(where.API_SERVICE_ADDRESS, 443),
        "cluster DNS does not answer": _connects(where.DNS_SERVICE_ADDRESS, 53),
        "Prometheus is not ready": _is_ok(f"{where.PROMETHEUS_URL}/-/ready"),
    }
    return tuple(problem for problem, fine in checks.items() if not fine)


def _connects(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=0.5):
            return True
    except OSError:
        return False


def _is_ok(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=1) as response:
            return bool(response.status == 200)
    except OSError:
        return False
