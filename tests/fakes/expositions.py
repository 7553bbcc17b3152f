"""What each program exports, with a series of every metric: for the reference, rules and dashboard."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from prometheus_client.exposition import generate_latest

from chaffinch.agent.blocks import ArmKey
from chaffinch.agent.exposition import COMMON, exposition
from chaffinch.agent.own_metrics import own_metrics
from chaffinch.api.v1alpha1.attempt_status import Outcome
from chaffinch.api.v1alpha1.status import RolloutStatus
from chaffinch.domain.block_vector import BlockVector, LatencyCounts
from chaffinch.domain.evidence import Evidence
from chaffinch.probe.outcome import Outcome as ProbeOutcome
from chaffinch.probe.watch import Watch
from chaffinch.runtime.baseline_export import BaselineExport
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.rollout_metrics import ObjectiveFigure, RolloutFigures
from fakes.baselines import baseline_object

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STATUS = {
    "phase": "Progressing",
    "stable": {"revision": "0a1b2c3d", "since": NOW, "replicas": 2, "ready": 2},
    "candidate": {"revision": "4e5f6071", "attempt": 2, "replicas": 1, "ready": 1},
    "rollout": {
        "id": "4e5f6071-2",
        "stage": "Stepping",
        "startedAt": NOW,
        "hold": {"reason": "NoData", "since": NOW},
    },
    "traffic": {"sequence": 3, "acknowledged": 2, "routers": 2},
    "conditions": [
        {
            "type": "Stalled",
            "status": "True",
            "reason": "NoEvidence",
            "message": "",
            "lastTransitionTime": NOW,
            "observedGeneration": 1,
        }
    ],
}


def operator_exposition() -> str:
    """Return what an operator says that looks after one rollout, ``shop/chat``, in trouble."""
    metrics = Metrics()
    metrics.request("get", "Pod", "200", 0.1)
    metrics.had_pass("rollout", failed=False, seconds=1)
    metrics.read_evidence("Read", 0.1)
    metrics.answered("pause", "Done")
    usable: Any = Evidence(candidate=None, control=None, until=NOW)  # type: ignore[arg-type]
    figures = (ObjectiveFigure("ttft", 0.2, 0.2),)
    metrics.rollouts.publish(
        "shop", "chat", RolloutFigures(RolloutStatus.model_validate(STATUS), NOW, figures, usable)
    )
    metrics.rollouts.ended("shop", "chat", Outcome.PROMOTED, "AsExpected")
    metrics.rollouts.had_pass("shop", "chat", failed=False)
    BaselineExport(metrics).saw(baseline_object("chat-base", "v1", seconds=0.2), deleted=False)
    return generate_latest(metrics.registry).decode()


def router_exposition() -> str:
    """Return what one of its routers says."""
    blocks = SimpleNamespace(late=0, overdue_total=0, forgotten=0, open_requests=0)
    counter: Any = SimpleNamespace(lines=1, dropped=0, rotations=0, restarts=0, blocks=blocks)
    truth = SimpleNamespace(route=SimpleNamespace(epoch=1, sequence=2))
    translation = SimpleNamespace(weights={"0a1b2c3d": 10_000}, ready={"0a1b2c3d": 2})
    served = SimpleNamespace(applied=SimpleNamespace(truth=truth, translation=translation))
    keeper: Any = SimpleNamespace(failures=0, refused={"it is older": 1}, served=served)
    counts = LatencyCounts((0, 10), (1, 2), 3)
    vector = BlockVector(100, 101, (3,) + (0,) * 9, counts, counts, counts)
    common = dict(zip(COMMON, ("shop", "chat", "u-1", "chat-router-0"), strict=True))
    return exposition(common, [(ArmKey(1, "0a1b2c3d"), vector)], own_metrics(counter, keeper))


def probe_exposition() -> str:
    """Return what a load probe says."""
    watch = Watch()
    watch.count("gate", ProbeOutcome.OK)
    return generate_latest(watch.registry).decode()
