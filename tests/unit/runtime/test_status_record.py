"""Statuses that the API server refuses: told apart from those that somebody else has overtaken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chaffinch.api.v1alpha1.status import Phase, RolloutStatus, Writer
from chaffinch.domain.timing import Timing
from chaffinch.ports.cluster import ClusterError, ConflictError, Kinds, RejectedError
from chaffinch.runtime.status_record import StatusRecord
from fakes.cluster import FakeCluster
from fakes.virtual_time import START, run
from fakes.world import NAME, NAMESPACE, FakeTerm, rollout

WANTED = RolloutStatus(phase=Phase.HEALTHY)


def _stored(sequence: int) -> dict[str, Any]:
    return {**rollout(), "status": {"phase": "Progressing", "writer": {"epoch": 7, "sequence": sequence}}}


def _record(cluster: FakeCluster) -> Callable[[], None]:
    record = StatusRecord(cluster, FakeTerm(), Timing())

    def write() -> None:
        body = cluster.read(Kinds.ROLLOUT, NAMESPACE, NAME)
        before = RolloutStatus(
            phase=Phase.PROGRESSING, writer=Writer.model_validate(body["status"]["writer"])
        )
        run(record.record(body, before, WANTED, START))

    return write


def _attempt(write: Callable[[], None], cluster: FakeCluster) -> tuple[type[ClusterError], list[str]]:
    """Write; return the error and the requests that it took."""
    cluster.requests.clear()
    with pytest.raises(ClusterError) as raised:
        write()
    return raised.type, [verb for verb, _ in cluster.requests]


def test_a_refused_status_is_looked_into_once_until_somebody_writes() -> None:
    cluster = FakeCluster()
    cluster.put(_stored(1))
    cluster.fault = lambda verb, _: RejectedError("refused") if verb == "patch" else None
    write = _record(cluster)
    assert _attempt(write, cluster) == (RejectedError, ["patch", "get"])
    assert _attempt(write, cluster) == (RejectedError, ["patch"])
    cluster.put(_stored(2))
    assert _attempt(write, cluster) == (RejectedError, ["patch", "get"])


def test_a_status_that_somebody_has_overtaken_is_a_conflict() -> None:
    cluster = FakeCluster()
    cluster.put(_stored(1))

    def overtaken(verb: str, _: object) -> ClusterError | None:
        if verb == "patch":
            cluster.put(_stored(2))
        return RejectedError("a test failed") if verb == "patch" else None

    cluster.fault = overtaken
    assert _attempt(_record(cluster), cluster) == (ConflictError, ["patch", "get"])
