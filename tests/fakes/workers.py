"""Probe workers in memory: a Job gets a pod at once, and the pod answers as told."""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.api.v1alpha1.probe import SelfCheck
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES
from chaffinch.domain import grid
from chaffinch.ports.probe_results import Finished, Progress
from chaffinch.probe.result import GeneratorFigures, ProbeRecord, StageRecord, WarmUpRecord
from fakes.cluster import FakeCluster

ADDRESS = "10.0.9.1"


class FakeResults:
    """What the worker at the one address says."""

    def __init__(self) -> None:
        self.answer: Progress | Finished | None = None
        self.collected_from: list[str] = []

    async def ask(self, address: str) -> Progress | Finished | None:
        assert address == ADDRESS
        return self.answer

    async def collected(self, address: str) -> None:
        self.collected_from.append(address)


def start_workers(cluster: FakeCluster, *, phase: str = "Running", owner: str | None = None) -> None:
    """Give each Job its pod, in a phase; of another owner if one is given."""
    for (kind, namespace, name), job in list(cluster.objects.items()):
        if kind == "Job":
            cluster.put(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "namespace": namespace,
                        "name": f"{name}-0",
                        "labels": {
                            **job["spec"]["template"]["metadata"]["labels"],
                            "batch.kubernetes.io/job-name": name,
                        },
                        "ownerReferences": [{"uid": owner or job["metadata"]["uid"], "controller": True}],
                    },
                    "status": {"phase": phase, "podIP": ADDRESS},
                }
            )


def record(probe_uid: str, *, requests: int = 200, errors: int = 0, seconds: float = 0.2) -> ProbeRecord:
    """Return the result of a run of the gate stage of ``smoke/v1`` with one latency for all requests."""
    profile = BUILT_IN_PROFILES["smoke/v1"]
    gate = next(stage for stage in profile.stages if stage.name == profile.gate_stage)
    latencies = grid.encode(
        grid.Histogram.of([seconds] * (requests - errors) + [float("inf")] * errors).counts
    )
    return ProbeRecord(
        probe_uid=probe_uid,
        attempt=1,
        engine_version="0.32.0",
        warm_up=warm_up(),
        stages=(
            StageRecord(
                name=gate.name,
                concurrency=gate.concurrency,
                planned=requests,
                requests=requests,
                errors=errors,
                prompt_tokens=0,
                output_tokens=0,
                unknown_tokens=0,
                output_tokens_per_1000_seconds=0,
                duration_millis=1000,
                sketches=Sketches(ttft=latencies, e2e=latencies),
                itl="",
                self_check=SelfCheck(passed=True),
                generator=GeneratorFigures(lag_p99_micros=1, cpu_permille=1),
            ),
        ),
    )


def warm_up(errors: int = 0) -> WarmUpRecord:
    """Return how a warm-up of 20 requests went."""
    kinds = {"error_5xx": errors} if errors else {}
    return WarmUpRecord(requests=20, errors=errors, errors_by_kind=kinds)


def finished(result: ProbeRecord) -> Finished:
    """Return the answer of a worker that is done."""
    return Finished(result.to_json().encode())


def load_probe(**spec: object) -> dict[str, Any]:
    """Return a LoadProbe of the stable revision of the rollout ``chat``."""
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "LoadProbe",
        "metadata": {"namespace": "shop", "name": "look", "generation": 1},
        "spec": {"target": {"rollout": "chat", "revision": "Stable"}, **spec},
    }
