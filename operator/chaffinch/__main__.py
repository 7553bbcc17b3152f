"""The operator process: reads its settings, puts the parts together, leads, watches.

``python -m chaffinch``; :mod:`chaffinch.api.exits` says what its exit codes mean. It ends by SIGALRM, and not
here, if it slept, or was too busy to notice, when its Lease ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import math
import os
import random
import secrets
import signal
import sys

import kopf

from chaffinch.adapters.agents import AgentRouters
from chaffinch.adapters.apiserver import ConnectionSettingsError, connect
from chaffinch.adapters.clock import SystemClock
from chaffinch.adapters.cluster import KubernetesCluster, Limits, Report
from chaffinch.adapters.pods import HttpPods, Pods
from chaffinch.adapters.probe_results import WorkerResults
from chaffinch.adapters.prometheus import PrometheusEvidence
from chaffinch.adapters.prometheus_queries import Limits as PrometheusLimits
from chaffinch.adapters.recorder import EventRecorder
from chaffinch.api.exits import OperatorExit
from chaffinch.domain.timing import Timing
from chaffinch.handlers import Wakers, engine_settings, registry_of
from chaffinch.routing.settings import RouterSettings
from chaffinch.runtime import fence
from chaffinch.runtime.baseline_export import BaselineExport
from chaffinch.runtime.caretaker import Caretaker
from chaffinch.runtime.command_pass import CommandPass
from chaffinch.runtime.freezing import Freezer
from chaffinch.runtime.gather import Gatherer
from chaffinch.runtime.health import Health
from chaffinch.runtime.hub import Hub
from chaffinch.runtime.lease import Lease, LeaseTerms
from chaffinch.runtime.logs import configure
from chaffinch.runtime.loop import Pace
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.observed import ObservedEvidence, ObservedRouters
from chaffinch.runtime.preflight import NotReadyError, check_crds, check_rights, passed
from chaffinch.runtime.probe_pass import ProbePass, ProbeSettings
from chaffinch.runtime.rollout_pass import World
from chaffinch.runtime.spending import counted
from chaffinch.runtime.tracing import NoTracer, Tracer, reporting
from chaffinch.runtime.web import health_app, metrics_app, serve
from chaffinch.settings import Settings, SettingsError, load

_GRACE_SECONDS = 2.0  # for passes that are under way when the process is asked to end
_COLLECT_AFTER = (20_000, 20, 20)
"""How many new objects make Python look for cycles; its default is 700, and a reply of Prometheus is tens
of thousands of objects without one: half the time of reading it went into looking."""

log = logging.getLogger("chaffinch")


class Operator:
    """All parts of the process, wired together once."""

    def __init__(self, settings: Settings) -> None:
        """Put the parts together; nothing is sent yet.

        Raises:
            ConnectionSettingsError: If there is no way to an API server.
        """
        self._settings = settings
        self._clock = SystemClock()
        self._health = Health(self._clock, longest_pass=settings.pass_timeout + 60)
        self._metrics = Metrics()
        self._tracer = tracer_of(settings)
        connect_timeout, timeout = settings.kube_connect_timeout, settings.kube_request_timeout
        limits = Limits(connect_timeout, timeout, settings.kube_connections)
        server = connect(settings.kube_connections + 1)  # one is the Lease's
        # The Lease has threads of its own: a busy pool must not delay a renewal.
        lease_limits = Limits(connect_timeout, min(timeout, settings.lease_duration / 3), 1)
        lease_cluster = KubernetesCluster(server, lease_limits, lambda: math.inf, self._metrics.request)
        self._lease = Lease(lease_cluster, self._clock, _terms(settings), fence.arm)
        self._metrics.follow_lease(self._lease.seconds_left, lambda: self._lease.epoch)
        report: Report = counted(self._metrics.request)
        if settings.tracing_endpoint:
            report = reporting(report, self._tracer)
        self._cluster = KubernetesCluster(server, limits, self._lease.seconds_left, report)
        self._clusters = (lease_cluster, self._cluster)

    async def run(self) -> OperatorExit:
        """Run until asked to end; returns the exit code.

        Raises:
            NotReadyError: If the CRDs or the operator's rights are not as they have to be.
            OSError: If a port cannot be had.
        """
        settings = self._settings
        health = await serve(health_app(self._health, self._lease.seconds_left), settings.health_port)
        metrics = await serve(metrics_app(self._metrics.registry), settings.metrics_port)
        try:
            await passed(lambda: check_crds(self._cluster))
            await passed(lambda: check_rights(self._cluster, settings.watch_namespaces or ("",)))
            self._health.started = True
            return await self._watch() if await self._leads() else OperatorExit.ENDED
        finally:
            await asyncio.gather(health.cleanup(), metrics.cleanup())
            for cluster in self._clusters:
                cluster.close()
            self._tracer.close()

    async def _leads(self) -> bool:
        """Wait for the Lease; False if asked to end before. The watch engine takes the signals over later."""
        loop, waiting = asyncio.get_running_loop(), asyncio.create_task(self._lease.acquire())
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, waiting.cancel)
        await asyncio.wait([waiting])
        self._health.leading = not waiting.cancelled()
        return self._health.leading

    async def _watch(self) -> OperatorExit:
        """Keep the Lease and watch; returns the exit code."""
        settings = self._settings
        keeping = asyncio.create_task(self._lease.keep())
        keeping.add_done_callback(lambda _: self._lost())
        limits = PrometheusLimits(seconds=settings.prometheus_timeout)
        async with (
            contextlib.aclosing(PrometheusEvidence(settings.prometheus_url, limits=limits)) as evidence,
            HttpPods(settings.pod_timeout, settings.pod_connections) as pods,
        ):
            hub = Hub(self._caretaker(evidence, pods).look_after)
            wakers = Wakers(hub, self._health, BaselineExport(self._metrics), lambda: self._end(hub))
            try:
                await kopf.operator(
                    registry=registry_of(wakers),
                    settings=_engine_settings(settings),
                    # Left to itself, kopf looks up the user's name, and a container's uid has none.
                    # An identity is a str; kopf has a private name for such ones, for type checkers only.
                    identity=settings.identity,  # type: ignore[arg-type]
                    standalone=True,
                    clusterwide=not settings.watch_namespaces,
                    namespaces=settings.watch_namespaces,
                )
            except Exception as error:  # noqa: BLE001 - whatever ended the watches, the process ends with one line
                log.error("the watches ended (%s): check the roles of the operator", type(error).__name__)
                return OperatorExit.FAILED
        return OperatorExit.ENDED

    def _caretaker(self, evidence: PrometheusEvidence, pods: Pods) -> Caretaker:
        settings, cluster, clock = self._settings, self._cluster, self._clock
        world = World(
            cluster=cluster,
            gatherer=Gatherer(cluster, ObservedRouters(AgentRouters(pods), self._tracer)),
            evidence=ObservedEvidence(evidence, self._metrics, clock, self._tracer),
            recorder=EventRecorder(cluster, clock, settings.identity),
            clock=clock,
            metrics=self._metrics,
            term=self._lease,
            router=RouterSettings(
                settings.image, settings.envoy_image, settings.router_replicas, settings.image_pull_secrets
            ),
            timing=Timing(active=settings.active_interval, idle=settings.idle_interval),
        )
        probes = ProbePass(
            cluster,
            WorkerResults(pods),
            Freezer(cluster),
            clock,
            ProbeSettings(
                settings.image, settings.active_interval, settings.idle_interval, settings.image_pull_secrets
            ),
        )
        pace = Pace(
            spacing=settings.pass_spacing,
            longest_backoff=settings.backoff_limit,
            pass_timeout=settings.pass_timeout,
        )
        commands = CommandPass(cluster, clock, self._metrics, settings.idle_interval)
        return Caretaker(
            world,
            probes,
            commands,
            health=self._health,
            pace=pace,
            chance=random.random,
            tracer=self._tracer,
            passes=settings.passes,
        )

    async def _end(self, hub: Hub) -> None:
        """Hand over: end the passes, then give the Lease up, so that a successor can lead at once."""
        self._health.leading = False
        await hub.stop(_GRACE_SECONDS)
        await self._lease.release()

    def _lost(self) -> None:
        """End at once if leadership is over and nobody asked for it: another process may be writing."""
        if self._health.leading:
            log.critical("the lease is lost: this process ends")
            logging.shutdown()
            os._exit(OperatorExit.REPLACED)


def tracer_of(settings: Settings) -> Tracer:
    """Return what keeps traces: nothing, unless a collector is named."""
    if settings.tracing_endpoint is None:
        return NoTracer()
    from chaffinch.runtime.tracing_otlp import OtlpTracer  # half a second to import, for those who ask for it

    return OtlpTracer(
        {"service.namespace": settings.operator_namespace, "service.instance.id": settings.identity}
    )


def _terms(settings: Settings) -> LeaseTerms:
    identity = f"{settings.identity}_{secrets.token_hex(4)}"
    return LeaseTerms(settings.operator_namespace, settings.lease_name, identity, settings.lease_duration)


def _engine_settings(settings: Settings) -> kopf.OperatorSettings:
    return engine_settings(
        request=settings.kube_request_timeout,
        connect=settings.kube_connect_timeout,
        watch=settings.watch_timeout,
    )


def _spare() -> None:
    """Let the libraries do less of what nobody needs here."""
    gc.freeze()  # what has been imported stays, and need not be looked at again
    gc.set_threshold(*_COLLECT_AFTER)


def main() -> OperatorExit:
    """Run the operator; returns the exit code."""
    try:
        settings = load()
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return OperatorExit.USAGE
    configure(settings.log_level, settings.log_format)
    _spare()
    try:
        return asyncio.run(Operator(settings).run())
    except (ConnectionSettingsError, NotReadyError) as error:
        log.error("%s", error)
    except OSError as error:
        log.error("a port cannot be had (%s): set CHAFFINCH_HEALTH_PORT or _METRICS_PORT", error.strerror)
    return OperatorExit.FAILED


if __name__ == "__main__":
    sys.exit(main())
