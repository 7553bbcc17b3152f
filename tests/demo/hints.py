"""What the demo tells people to type: lines that work as they stand, in the root of the repository.

The cluster is reachable from inside its network only, so a command goes there by `make` or by
``python -m localcluster``. A cluster that has another name or folder is found by the same variables again.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

_WHICH_CLUSTER = ("LOCALCLUSTER_NAME", "LOCALCLUSTER_STATE")
_INSIDE = "PYTHONPATH=tests:operator .venv/bin/python -m localcluster exec --"


def make(target: str, arguments: str = "", *, environment: Mapping[str, str] = os.environ) -> str:
    """Return the line for a target of the Makefile, with its ``ARGS`` if it takes some."""
    given = f" ARGS={shlex.quote(arguments)}" if arguments else ""
    return f"{_cluster(environment)}make {target}{given}"


def kubectl(namespace: str, *words: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the line that asks the cluster something; an empty namespace is none."""
    place = ("-n", namespace) if namespace else ()
    return make("kubectl", " ".join((*place, *words)), environment=environment)


def chaffinch(*words: str, inside: bool, environment: Mapping[str, str] = os.environ) -> str:
    """Return the line for the command line of Chaffinch.

    Args:
        words: Its arguments.
        inside: Whether it asks the cluster, and so has to run in the cluster's network.
        environment: Where the variables that name the cluster are looked up.
    """
    line = shlex.join((".venv/bin/chaffinch", *words))
    return f"{_cluster(environment)}{_INSIDE} {line}" if inside else line


def _cluster(environment: Mapping[str, str]) -> str:
    given = ((name, environment.get(name)) for name in _WHICH_CLUSTER)
    return "".join(f"{name}={shlex.quote(value)} " for name, value in given if value)
