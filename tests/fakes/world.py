"""A rollout's surroundings in memory: controllers, routers, evidence and a recorder that obey at once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from chaffinch.domain.evidence import ArmEvidence, Evidence, LatencyMetric, NoEvidence
from chaffinch.domain.grid import Histogram
from chaffinch.domain.names import COMPONENT_LABEL, REVISION_LABEL
from chaffinch.domain.observation import Acknowledgement
from chaffinch.domain.timing import Timing
from chaffinch.ports.cluster import Kinds, Manifest
from chaffinch.ports.evidence import EvidenceQuestion
from chaffinch.ports.recorder import Note
from chaffinch.routing.settings import RouterSettings
from chaffinch.runtime.gather import Gatherer
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.loop import Outcome
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.rollout_pass import RolloutPass, World
from fakes.cluster import FakeCluster
from fakes.virtual_time import START, LoopClock

NAMESPACE, NAME = "shop", "chat"


class FakeRouters:
    """Routers that have the stored route in force, or the one before if they are told to be slow."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self.deaf = False
        self._known: dict[str, Any] | None = None

    async def acknowledgements(self, addresses: Mapping[str, str]) -> Mapping[str, Acknowledgement]:
        stored = self._cluster.objects.get(("ConfigMap", NAMESPACE, f"{NAME}-router"))
        if stored is not None and not self.deaf:
            with contextlib.suppress(
                ValueError
            ):  # an agent keeps what it has rather than take a broken route
                self._known = json.loads(stored["data"]["route.json"])
        route = self._known
        if route is None:
            return {}
        weights = {arm["revision"]: arm["weight"] for arm in route["arms"]}
        return {pod: Acknowledgement(route["epoch"], route["sequence"], weights, {}) for pod in addresses}


class FakeEvidence:
    """Evidence as told: of a canary whose TTFT is the given factor of stable's, or none."""

    def __init__(self) -> None:
        self.factor = 1.0
        self.answer: NoEvidence | None = None
        self.questions: list[EvidenceQuestion] = []

    async def live(self, question: EvidenceQuestion) -> Evidence | NoEvidence:
        self.questions.append(question)
        if self.answer is not None:
            return self.answer
        seconds = (question.now - question.since) / timedelta(seconds=1)
        count = max(0, int(seconds * 40))
        control = None if question.stable is None else _arm(count, 1.0)
        return Evidence(_arm(count, self.factor), control, question.now)


def _arm(count: int, factor: float) -> ArmEvidence:
    latencies = Histogram.of([0.2 * factor * (0.9 + 0.2 * (i % 97) / 97) for i in range(count)])
    return ArmEvidence(count, 0, {LatencyMetric.TTFT: latencies, LatencyMetric.E2E: latencies})


class FakeRecorder:
    """Keeps what was said."""

    def __init__(self) -> None:
        self.notes: list[Note] = []

    async def record(self, about: Manifest, note: Note) -> None:
        assert about["metadata"]["name"] == NAME
        self.notes.append(note)


@dataclass
class FakeTerm:
    """A term of leadership."""

    epoch: int = 7


def rollout(**changes: object) -> dict[str, Any]:
    """Return a rollout of two pods with a short ladder; the changes replace fields of its spec."""
    spec = {
        "model": {"name": "chat", "source": "example/chat-1b"},
        "engine": {"image": "engine:1", "extraArgs": ["--seed=1"]},
        "replicas": 2,
        "objectives": [
            {"name": "ttft", "metric": "ttft", "quantile": "p95", "max": "500ms", "maxRegression": "5%"},
            {"name": "errors", "metric": "errorRate", "max": "1%"},
        ],
        "strategy": {
            "steps": [
                {"name": "canary-20", "canary": {"weight": 20, "for": "60s"}},
                {"name": "canary-50", "canary": {"weight": 50, "for": "60s"}},
                {"name": "bake", "bake": {"for": "60s"}},
            ]
        },
        **changes,
    }
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "InferenceRollout",
        "metadata": {
            "namespace": NAMESPACE,
            "name": NAME,
            "generation": 1,
            "creationTimestamp": START.isoformat(),
        },
        "spec": spec,
    }


@dataclass
class Shop:
    """One rollout in its surroundings; :meth:`go` lets passes and time go by."""

    cluster: FakeCluster = field(default_factory=FakeCluster)
    evidence: FakeEvidence = field(default_factory=FakeEvidence)
    recorder: FakeRecorder = field(default_factory=FakeRecorder)
    metrics: Metrics = field(default_factory=Metrics)
    term: FakeTerm = field(default_factory=FakeTerm)

    def __post_init__(self) -> None:
        self.routers = FakeRouters(self.cluster)
        self.world = World(
            cluster=self.cluster,
            gatherer=Gatherer(self.cluster, self.routers),
            evidence=self.evidence,
            recorder=self.recorder,
            clock=LoopClock(),
            metrics=self.metrics,
            term=self.term,
            router=RouterSettings("chaffinch:1", "envoy:1"),
            timing=Timing(active=5, idle=60),
        )
        self.restart()

    def restart(self) -> None:
        """Forget everything that the process remembers."""
        self._pass = RolloutPass(self.world)

    def apply(self, manifest: dict[str, Any]) -> None:
        """Do what a user does; the API server counts generations of the spec and keeps the status."""
        key = ("InferenceRollout", NAMESPACE, NAME)
        old = self.cluster.objects.get(key)
        if old is not None:
            generation = old["metadata"]["generation"] + (old["spec"] != manifest["spec"])
            manifest = {**manifest, "metadata": {**manifest["metadata"], "generation": generation}}
            if "status" in old:
                manifest["status"] = old["status"]
        self.cluster.put(manifest)

    @property
    def body(self) -> dict[str, Any]:
        """The rollout as it is stored."""
        return self.cluster.read(Kinds.ROLLOUT, NAMESPACE, NAME)

    @property
    def status(self) -> dict[str, Any]:
        """Its status."""
        status: dict[str, Any] = self.body.get("status", {})
        return status

    @property
    def route(self) -> dict[str, Any]:
        """The stored route."""
        stored = self.cluster.read(Kinds.CONFIG_MAP, NAMESPACE, f"{NAME}-router")
        route: dict[str, Any] = json.loads(stored["data"]["route.json"])
        return route

    @property
    def weights(self) -> dict[str, int]:
        """Weight by revision in it, without those of 0."""
        return {arm["revision"]: arm["weight"] for arm in self.route["arms"] if arm["weight"]}

    @property
    def revisions(self) -> set[str]:
        """Revisions that exist."""
        kinds = ("ControllerRevision", "Deployment")
        return {
            found["metadata"]["labels"].get(REVISION_LABEL, "")
            for (kind, _, _), found in self.cluster.objects.items()
            if kind in kinds
        } - {""}

    def pods(self, revision: str) -> set[str]:
        """Return the uids of a revision's pods."""
        return {
            found["metadata"]["uid"]
            for (kind, _, _), found in self.cluster.objects.items()
            if kind == "Pod" and found["metadata"]["labels"].get(REVISION_LABEL) == revision
        }

    def condition(self, kind: str) -> tuple[str, str]:
        """Return status and reason of a condition."""
        found = next(one for one in self.status["conditions"] if one["type"] == kind)
        return found["status"], found["reason"]

    def message(self, kind: str) -> str:
        """Return the message of a condition."""
        return next(str(one["message"]) for one in self.status["conditions"] if one["type"] == kind)

    async def run_pass(self) -> Outcome:
        """Do one pass."""
        uid = self.body["metadata"]["uid"]
        return await self._pass.run(Subject(SubjectKind.ROLLOUT, NAMESPACE, NAME, uid))

    def obey(self) -> None:
        """Let the controllers of Kubernetes do what the objects say."""
        for (kind, _, _), found in list(self.cluster.objects.items()):
            if kind == "Deployment":
                self._run_pods(found)

    def _run_pods(self, deployment: dict[str, Any]) -> None:
        name, template = deployment["metadata"]["name"], deployment["spec"]["template"]
        wanted = {f"{name}-{i}" for i in range(deployment["spec"]["replicas"])}
        there = {key[2] for key in self.cluster.objects if key[0] == "Pod" and key[2].startswith(f"{name}-")}
        for gone in there - wanted:
            del self.cluster.objects["Pod", NAMESPACE, gone]
        for pod in sorted(wanted - there):
            number = int(pod.rsplit("-", 1)[1])
            self.cluster.put(_ready_pod(pod, template["metadata"]["labels"], f"10.0.0.{number + 1}"))


def _ready_pod(name: str, labels: Mapping[str, str], address: str) -> dict[str, Any]:
    assert labels[COMPONENT_LABEL] in {"engine", "router"}
    now = LoopClock().now().isoformat()
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": NAMESPACE,
            "name": name,
            "labels": dict(labels),
            "creationTimestamp": now,
        },
        "status": {
            "phase": "Running",
            "startTime": now,
            "podIP": address,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}],
            "containerStatuses": [{"name": "engine", "restartCount": 0}],
        },
    }
