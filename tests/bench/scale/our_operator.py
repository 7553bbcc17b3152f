"""Our operator as the subject of the measurement: the real one, with the chart's ServiceAccount and settings.

It is a process beside the cluster. Pods are KWOK's; routers and Prometheus are answered for by ``kwokstage``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bench.scale.audit import AuditTail
from bench.scale.controller import ControllerProcess, answer, kubeconfig
from bench.scale.evidence import Prometheus, Routers
from bench.scale.figures import Scrape
from bench.scale.fleet import IMAGE, REPLICAS, Fleet, Kind, Object
from bench.scale.measurement import Subject, Targets, Watched
from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.api.v1alpha1.status import Phase
from chaffinch.domain.block_vector import BLOCK_SECONDS
from chaffinch.domain.edges import edges_of
from chaffinch.domain.evidence import LatencyMetric
from kwokstage import Background, Script, Stage
from kwokstage.api import Api, administrator
from localcluster import Settings
from localcluster.api import ApiClient
from localcluster.progress import Progress
from localcluster.settings import API_URL, REPOSITORY
from stage.install import NAMESPACE, OPERATOR_USER, RELEASE, VALUES, helm
from stage.kubectl import Kubectl
from stage.service import Service

TARGETS = Targets(cores=1.0, mib=300.0, pass_seconds=1.0, writes=0.0)

_HEALTH_PORT = 18081
_METRICS_PORT = 19091


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the steps of a new version take, in seconds.

    Attributes:
        canary: The first step, during which the operator is measured.
        rest: Each of the steps after it.
    """

    canary: int
    rest: int = 10

    def steps(self) -> tuple[dict[str, Any], ...]:
        """Return the strategy's steps."""
        return (
            {"name": "canary-20", "canary": {"weight": 20, "for": f"{self.canary}s"}},
            {"name": "canary-50", "canary": {"weight": 50, "for": f"{self.rest}s"}},
            {"name": "bake", "bake": {"for": f"{self.rest}s"}},
        )


def kind(pace: Pace) -> Kind:
    """Return what the fleet is made of."""

    def manifest(namespace: str, name: str, version: int) -> dict[str, Any]:
        service = Service(
            namespace=namespace,
            name=name,
            replicas=REPLICAS,
            image=IMAGE,
            flags=("--seed=1",),
            steps=pace.steps(),
            progress_deadline="1h",
        )
        return (service if version == 1 else service.version(f"--seed={version}")).manifest()

    group = "/apis/chaffinch.dev/v1alpha1"
    return Kind(group, "inferencerollouts", "scale", manifest, is_healthy, is_in_canary)


def is_healthy(rollout: Object) -> bool:
    """Tell whether a rollout serves the version of its spec and has nothing left to do."""
    status = rollout.get("status") or {}
    if status.get("observedGeneration") != rollout["metadata"]["generation"]:
        return False
    return status.get("phase") == Phase.HEALTHY and not status.get("rollout")


def is_in_canary(rollout: Object) -> bool:
    """Tell whether a rollout has users on both of its versions."""
    status = rollout.get("status") or {}
    if (status.get("rollout") or {}).get("stage") != RolloutStage.STEPPING:
        return False
    return bool(status["traffic"]["weight"]["desired"])


@contextmanager
def subject(settings: Settings, size: int, pace: Pace, progress: Progress) -> Iterator[Subject]:
    """Start the operator and all that it needs; it is ended afterwards.

    Raises:
        InstallError: If helm refuses the chart.
        KubectlError: If the API server refuses what is needed.
        ControllerEndedError: If the operator does not become ready.
    """
    token = installed()
    of = kind(pace)
    with (
        staged(settings, of) as prometheus_url,
        operator(settings, prometheus_url, token) as process,
        closing(AuditTail(settings.audit_log, OPERATOR_USER)) as audit,
    ):
        watched = Watched(process, _scrape)
        fleet = Fleet(ApiClient(settings.pki), of, size, progress)
        yield Subject("", "the operator", watched, fleet, audit, TARGETS, tells_passes=True)


@contextmanager
def staged(settings: Settings, of: Kind) -> Iterator[str]:
    """Answer for routers and Prometheus; yields the URL of the latter."""
    objectives = parse_rollout(of.manifest(of.prefix, "chat", 1)).objectives
    ttft, e2e = (edges_of(objectives, metric) for metric in (LatencyMetric.TTFT, LatencyMetric.E2E))
    routers = Routers(int(time.time() // BLOCK_SECONDS), ttft, e2e)
    prometheus = web.AppRunner(Prometheus(routers).app(), access_log=None)

    async def start() -> tuple[Api, Stage]:
        await prometheus.setup()
        await web.TCPSite(prometheus, "127.0.0.1", 0).start()
        api = Api(API_URL, administrator(settings.pki))
        stage = Stage(api, Script())
        await stage.start()
        return api, stage

    with Background() as background:
        api, stage = background.run(start())
        try:
            yield f"http://127.0.0.1:{prometheus.addresses[0][1]}"
        finally:
            background.run(stage.stop())
            background.run(prometheus.cleanup())
            background.run(api.close())


def installed() -> str:
    """Install the chart for its CRDs and roles, without an operator; return a token of its ServiceAccount."""
    kubectl = Kubectl(NAMESPACE)
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    values = {"image.repository": VALUES["image.repository"], "prometheus.url": VALUES["prometheus.url"]}
    nowhere = {"nodeSelector.chaffinch\\.dev/nowhere": "yes"}
    chart = str(REPOSITORY / "charts" / "chaffinch")
    settings = [f"--set={name}={value}" for name, value in (values | nowhere).items()]
    helm("upgrade", "--install", RELEASE, chart, f"--namespace={NAMESPACE}", *settings)
    return kubectl("create", "token", RELEASE, "--duration=12h").strip()


@contextmanager
def operator(settings: Settings, prometheus_url: str, token: str) -> Iterator[ControllerProcess]:
    """Start the operator as the chart would; it is ended afterwards."""
    path = settings.state / "bench-operator.kubeconfig"
    path.write_text(kubeconfig(API_URL, settings.pki / "ca.crt", token))
    variables: Mapping[str, str] = {
        "KUBECONFIG": str(path),
        "CHAFFINCH_HEALTH_PORT": str(_HEALTH_PORT),
        "CHAFFINCH_METRICS_PORT": str(_METRICS_PORT),
        "CHAFFINCH_PROMETHEUS_URL": prometheus_url,
        "CHAFFINCH_IMAGE": "localhost/chaffinch:dev",
        "CHAFFINCH_ENVOY_IMAGE": "localhost/envoy:dev",
        "CHAFFINCH_OPERATOR_NAMESPACE": NAMESPACE,
    }
    argv = (sys.executable, "-m", "chaffinch")
    log = settings.state / "bench-operator.log"
    ready = f"http://127.0.0.1:{_HEALTH_PORT}/readyz"
    process = ControllerProcess("the operator", argv, variables, log, ready)
    try:
        process.until_ready()
        yield process
    finally:
        process.stop()


def _scrape() -> Scrape:
    return Scrape.of(answer(f"http://127.0.0.1:{_METRICS_PORT}/metrics", seconds=30))
