"""Reaching into the namespace from outside: 127.0.0.1:PORT on the host relays to an address inside.

The trick is the order: a socket stays in the namespace in which it was made, so the listening one is
made before the thread enters the cluster's namespace, and each connection after.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from localcluster.errors import PROGRAM, ClusterError
from localcluster.netns import call_inside, enter_this_thread

if TYPE_CHECKING:
    from pathlib import Path

    from localcluster.api import ApiClient

_CHUNK = 65536
_CONNECT_SECONDS = 5.0


def listen(port: int) -> socket.socket:
    """Return a listening socket on 127.0.0.1:`port` (0: any free port) in the caller's namespace."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise ClusterError(
            f"Cannot listen on 127.0.0.1:{port} ({error.strerror})", "choose another port"
        ) from None


def resolve(target: str, api: ApiClient, namespace: Path) -> tuple[str, int]:
    """Return (address, port) for `ADDRESS:PORT` or `NAMESPACE/SERVICE:PORT`.

    A Service port may be given by number or by name; a headless Service has no address to relay to.
    """
    host, _, port = target.rpartition(":")
    kube_namespace, slash, service = host.partition("/")
    if not host or (not slash and not port.isdigit()):
        raise ClusterError(f"{target!r} is no target", "write ADDRESS:PORT or NAMESPACE/SERVICE:PORT")
    if not slash:
        return host, int(port)
    found = call_inside(namespace, lambda: api.get(f"/api/v1/namespaces/{kube_namespace}/services/{service}"))
    if found is None:
        raise ClusterError(
            f"There is no Service {host}", f"{PROGRAM} kubectl get services -n {kube_namespace}"
        )
    if found["spec"].get("clusterIP", "None") == "None":
        raise ClusterError(f"Service {host} is headless", "give the address of one of its pods")
    for entry in found["spec"]["ports"]:
        if port in {str(entry["port"]), entry.get("name", "")}:
            return str(found["spec"]["clusterIP"]), int(entry["port"])
    raise ClusterError(
        f"Service {host} has no port {port}", f"choose of {[e['port'] for e in found['spec']['ports']]}"
    )


def serve(listener: socket.socket, target: tuple[str, int], namespace: Path) -> None:
    """Relay every connection made to `listener` until it is closed."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_relay, args=(client, target, namespace), daemon=True).start()


def _relay(client: socket.socket, target: tuple[str, int], namespace: Path) -> None:
    """Connect to the target from inside and copy both ways until both sides are done."""
    with client:
        try:
            enter_this_thread(namespace)
            server = socket.create_connection(target, timeout=_CONNECT_SECONDS)
        except (OSError, ClusterError):
            return  # the client sees its connection closed, as it would without a relay
        with server:
            server.settimeout(None)
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Copy bytes until `source` ends, then tell `sink` that no more will come."""
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
