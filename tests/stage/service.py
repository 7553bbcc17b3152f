"""The service under test: a rollout of the simulated vLLM, as a user would write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

SIMULATOR_IMAGE = "localhost/vllm-sim:dev"

# The pretended GPU is narrow (sigma 0.1) so that a few hundred requests show what takes thousands on
# a real one: at sigma 0.5, +20 % at P95 needs about 1,660 requests per arm instead of 150.
ENGINE_FLAGS = ("--sim-ttft-ms=200", "--sim-itl-ms=5", "--sim-sigma=0.1", "--sim-output-tokens=16")

# The absolute limit leaves room for a machine that is busy with other things; what tells a slow version
# from a good one is the comparison with stable, which is as busy.
OBJECTIVES = (
    {"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "2s", "maxRegression": "5%"},
    {"name": "errors", "metric": "errorRate", "max": "0.3%", "maxIncrease": "1pp"},
)

WARM_UP = {"name": "warm-up", "warmUp": {"requests": 20, "concurrency": 4}}
PROBE = {"name": "probe", "probe": {"profile": "smoke/v1"}}
# A first, small share only shows that nothing grave happens; the next step proves that it is as good.
CANARY_20 = {"name": "canary-20", "canary": {"weight": 20, "for": "10s", "require": "NoHarm"}}
CANARY_50 = {"name": "canary-50", "canary": {"weight": 50, "for": "20s"}}
BAKE = {"name": "bake", "bake": {"for": "15s"}}
# For stories about something else than the evidence: one step that few requests get through.
QUICK_CANARY = {"name": "canary-50", "canary": {"weight": 50, "for": "5s", "require": "NoHarm"}}
QUICK_STEPS = (WARM_UP, QUICK_CANARY)
QUICK_OBJECTIVES = (
    {"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "800ms"},
    {"name": "errors", "metric": "errorRate", "max": "3%"},
)


@dataclass(frozen=True, slots=True)
class Service:
    """A rollout to apply.

    Attributes:
        namespace: Its namespace.
        name: Its name, which is also the name of the Service that users call.
        model: The model's name in requests; the service's name when None.
        replicas: Engine pods of the stable revision.
        flags: ``extraArgs``; a version differs from another in these alone.
        steps: The strategy's steps.
        objectives: What is gated.
        baseline: Name and version of the baseline to hold it to.
        metadata: Further metadata of the object: labels, annotations.
    """

    namespace: str
    name: str = "chat"
    model: str | None = None
    replicas: int = 2
    image: str = SIMULATOR_IMAGE
    flags: tuple[str, ...] = ENGINE_FLAGS
    steps: tuple[Mapping[str, Any], ...] = (WARM_UP, CANARY_20, CANARY_50, BAKE)
    objectives: tuple[Mapping[str, Any], ...] = OBJECTIVES
    baseline: tuple[str, str] | None = None
    progress_deadline: str = "3m"
    metadata: Mapping[str, Any] | None = None

    def version(self, *flags: str) -> Service:
        """Return the same service with further simulator flags: another version of the engine."""
        return replace(self, flags=(*self.flags, *flags))

    @property
    def url(self) -> str:
        """Where its users call it, inside the cluster."""
        return f"http://{self.name}.{self.namespace}.svc.cluster.local"

    def manifest(self) -> dict[str, Any]:
        """Return the InferenceRollout."""
        spec: dict[str, Any] = {
            "model": {"name": self.model or self.name, "source": "example/chat-1b"},
            "engine": {"image": self.image, "args": {"maxNumSeqs": 64}, "extraArgs": list(self.flags)},
            "replicas": self.replicas,
            "pod": {"resources": {"limits": {"nvidia.com/gpu": "1"}}},
            "objectives": list(self.objectives),
            "strategy": {"progressDeadline": self.progress_deadline, "steps": list(self.steps)},
        }
        if self.baseline:
            spec["baseline"] = dict(zip(("name", "version"), self.baseline, strict=True))
        return {
            "apiVersion": "chaffinch.dev/v1alpha1",
            "kind": "InferenceRollout",
            "metadata": {"name": self.name, "namespace": self.namespace, **(self.metadata or {})},
            "spec": spec,
        }


def load_probe(service: Service, name: str, *, revision: str = "Stable", profile: str) -> dict[str, Any]:
    """Return a LoadProbe of a service, as a user would write it."""
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "LoadProbe",
        "metadata": {"name": name, "namespace": service.namespace},
        "spec": {"target": {"rollout": service.name, "revision": revision}, "profile": profile},
    }


def without(steps: Sequence[Mapping[str, Any]], *names: str) -> tuple[Mapping[str, Any], ...]:
    """Return steps but those with the given names."""
    return tuple(step for step in steps if step["name"] not in names)
