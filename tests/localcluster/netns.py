"""The network namespace that the whole cluster lives in.

Inside it addresses are free to choose and nothing reaches the host's network: no load, no port clash.
Programs enter with `nsenter`; `ip netns exec` would mount a fresh /sys that hides the cgroups, and the
kubelet dies without them. This program itself enters with one thread at a time (`call_inside`), since
a namespace belongs to a thread.
"""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from localcluster import settings as where
from localcluster.errors import PROGRAM, ClusterError
from localcluster.shell import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CLONE_NEWNET = 0x40000000
_REMEDY = "run as root on a machine that allows network namespaces"

Result = TypeVar("Result")


def create(namespace: Path) -> None:
    """Make the namespace with the node's address on a bridge and a default route through it.

    The device is a bridge because kernels without the `dummy` module have bridges; the default route
    exists because the API server and the kubelet look for one to learn their own address. Pods on pretended
    nodes have addresses that are this namespace's own.
    """
    run(["ip", "netns", "add", namespace.name], remedy=_REMEDY)
    commands = (
        "ip link set lo up",
        "ip link add node0 type bridge",
        f"ip addr add {where.NODE_ADDRESS}/24 dev node0",
        "ip link set node0 up",
        f"ip route add default via {where.NODE_ADDRESS} dev node0",
        f"ip route add local {where.PRETENDED_SUBNET} dev lo",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
    )
    run([*enter(namespace), "sh", "-ec", "\n".join(commands)], remedy=_REMEDY)


def delete(namespace: Path) -> None:
    """Remove the namespace's name; the kernel frees it with its last process."""
    if namespace.exists():
        run(["ip", "netns", "del", namespace.name], remedy=f"remove {namespace} by hand")


def enter(namespace: Path) -> tuple[str, ...]:
    """Return the words before a command that make it run inside."""
    return ("nsenter", f"--net={namespace}")


def is_inside(namespace: Path) -> bool:
    """Tell whether this process already runs inside `namespace`."""
    try:
        return namespace.stat().st_ino == os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116 (a magic link)
    except FileNotFoundError:
        return False


def enter_this_thread(namespace: Path) -> None:
    """Move the calling thread, and only it, into `namespace`; sockets made before stay outside."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        handle = os.open(namespace, os.O_RDONLY)
    except FileNotFoundError:
        raise ClusterError("The cluster is not up", f"{PROGRAM} up") from None
    try:
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            problem = os.strerror(ctypes.get_errno())
            raise ClusterError(f"Cannot enter {namespace} ({problem})", _REMEDY)
    finally:
        os.close(handle)


def call_inside(namespace: Path, function: Callable[[], Result]) -> Result:
    """Run `function` in a thread of its own inside `namespace` and return what it returns."""

    def entered() -> Result:
        enter_this_thread(namespace)
        return function()

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="inside") as pool:
        return pool.submit(entered).result()
