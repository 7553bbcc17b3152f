"""What tests and tools need from a cluster, whichever kind it is.

`local` builds and runs its own; `existing` is one that a kubeconfig points at. A kind cluster (Docker)
would be a third implementation of the same few methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Command:
    """A program to run: its words and its whole environment."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


class Cluster(Protocol):
    """A cluster under test. Every method raises `ClusterError` with a remedy when it cannot."""

    @property
    def kubeconfig(self) -> Path:
        """Credentials that may do everything."""

    @property
    def prometheus_url(self) -> str:
        """Where the cluster's Prometheus answers, for pods and for commands made by `inside`."""

    @property
    def audit_log(self) -> Path | None:
        """The API server's audit log, one JSON event per line; None where it cannot be had."""

    def load_image(self, archive: Path) -> None:
        """Make the image in a Docker or OCI archive available to pods under its own name."""

    def set_gpus(self, count: int) -> None:
        """Let every node advertise `count` GPUs (`nvidia.com/gpu`)."""

    def inside(self, argv: Sequence[str]) -> Command:
        """Return `argv` as a command that can reach the cluster's pods and Services."""
