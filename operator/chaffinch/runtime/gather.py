"""Reads everything that a pass decides from, into one frozen value.

Reads go to the API server and not to a cache, so a pass never decides on an object that is older than the
operator's own last write. A read that fails becomes a word in ``problems`` and ends the gathering: with one
of its reads missing a pass decides nothing, and more reads would only burden a server in trouble. So one goes
ahead, and only then are there several side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from chaffinch.api.v1alpha1.names import revision_name, router_name
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_load_probe
from chaffinch.api.v1alpha1.probe import LoadProbeSpec, LoadProbeStatus, ProbePhase
from chaffinch.domain.baseline import probe_arm
from chaffinch.domain.evidence import ArmEvidence, NoEvidence, Problem
from chaffinch.domain.manifests.common import ENGINE
from chaffinch.domain.names import COMPONENT_LABEL, ROLLOUT_LABEL, RolloutIdentity
from chaffinch.domain.observation import (
    BaselineSeen,
    ForeignEdit,
    FrozenRevision,
    Observation,
    ProbeSeen,
    RevisionSeen,
    RouterPod,
    RouterSeen,
)
from chaffinch.domain.state import RolloutState
from chaffinch.ports.cluster import Cluster, ClusterError, Kind, Kinds, Manifest, NotFoundError
from chaffinch.ports.router import Routers
from chaffinch.routing.envoy import COMPONENT as ROUTER
from chaffinch.runtime.baseline_reading import BaselineReader, Comparison
from chaffinch.runtime.commands import command_of, waiting
from chaffinch.runtime.foreign_edits import edits_of_route
from chaffinch.runtime.probe_status import COMPLETE, condition_of
from chaffinch.runtime.probe_target import UnusableProfileError, find_profile
from chaffinch.runtime.reading import (
    Address,
    address_of,
    controller_uid,
    creation_refusal,
    pod_of,
    readable_revisions,
    revision_of,
)
from chaffinch.runtime.route_store import read_router

Result = TypeVar("Result")

KEPT_ATTEMPTS = 5
"""LoadProbes of so many attempts are kept for people to look at."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was read.

    Attributes:
        seen: For the decision.
        live: Those of the rollout's children that were listed, by kind and name, for the writes that follow.
        outdated: LoadProbes of attempts that are long over.
        commands: The commands in ``seen``, by uid, for their answers.
    """

    seen: Observation
    live: Mapping[Address, Manifest]
    outdated: tuple[Manifest, ...] = ()
    commands: Mapping[str, Manifest] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Workloads:
    """What a rollout has in the cluster, but for its route."""

    deployments: Sequence[Manifest]
    kept: Sequence[Manifest]
    services: Sequence[Manifest]
    pods: Sequence[Manifest]


class Gatherer:
    """Reads on behalf of rollouts."""

    def __init__(self, cluster: Cluster, routers: Routers) -> None:
        self._cluster = cluster
        self._routers = routers
        self._baselines = BaselineReader(cluster)

    async def gather(
        self, rollout: RolloutIdentity, made: datetime, state: RolloutState, comparison: Comparison | None
    ) -> Gathered:
        """Read everything but the evidence of live traffic.

        Args:
            rollout: Whose.
            made: When it was made; older pods of its labels belong to a predecessor of its name.
            state: What it remembers: LoadProbes of earlier attempts do not matter any more, and the
                command that was answered last is not overtaken by another.
            comparison: The baseline to read, and what it is to be compared with.

        Returns:
            What was seen; with a problem named, the rest may be missing.
        """
        try:
            return await self._gather(rollout, made, state, comparison)
        except ClusterError as error:
            return Gathered(Observation(rollout, problems=(str(error),)), {})

    async def _gather(
        self, rollout: RolloutIdentity, made: datetime, state: RolloutState, comparison: Comparison | None
    ) -> Gathered:
        attempt = state.attempts
        labels = {ROLLOUT_LABEL: rollout.name}
        workloads = await self._workloads(rollout, made)
        async with _SideBySide() as reads:
            routers = reads.start(self._router(rollout, state, _of_component(workloads.pods, ROUTER)))
            found = reads.start(self._owned(Kinds.PROBE, rollout, labels))
            waiting_commands = reads.start(self._commands(rollout, state))
        router, taken, edited = routers.result()
        probes, commands = found.result(), waiting_commands.result()
        revisions = _revisions(workloads.kept, workloads.deployments, _of_component(workloads.pods, ENGINE))
        seen = Observation(
            rollout,
            revisions=revisions,
            router=router,
            probes=tuple([await self._probe(one) for one in probes if _attempt_of(one) == attempt]),
            baseline=await self._baseline(rollout, comparison, revisions),
            taken=taken,
            edited=edited,
            commands=tuple(command_of(body) for body in commands.values()),
        )
        outdated = tuple(one for one in probes if _attempt_of(one) <= attempt - KEPT_ATTEMPTS)
        children = (*workloads.deployments, *workloads.services, *workloads.kept, *probes)
        live = {address_of(one): one for one in children}
        return Gathered(seen, live, outdated, commands)

    async def _workloads(self, rollout: RolloutIdentity, made: datetime) -> _Workloads:
        labels = {ROLLOUT_LABEL: rollout.name}
        deployments = await self._owned(Kinds.DEPLOYMENT, rollout, labels)
        async with _SideBySide() as reads:
            kept = reads.start(self._frozen(rollout, labels))
            services = reads.start(self._owned(Kinds.SERVICE, rollout, labels))
            pods = reads.start(self._pods(rollout, made, labels))
        return _Workloads(deployments, kept.result(), services.result(), pods.result())

    async def _pods(
        self, rollout: RolloutIdentity, made: datetime, labels: Mapping[str, str]
    ) -> list[Manifest]:
        found = await self._cluster.list(Kinds.POD, rollout.namespace, labels)
        return [pod for pod in found if pod_of(pod).created >= made]

    async def _commands(self, rollout: RolloutIdentity, state: RolloutState) -> Mapping[str, Manifest]:
        """Read the commands that wait for the rollout, by uid, in the order in which they are dealt with."""
        # They carry no label of ours, as people make them; answered ones go after a week, so they are few.
        found = await self._cluster.list(Kinds.COMMAND, rollout.namespace, {})
        return waiting(found, rollout.name, state.last_command.uid if state.last_command else None)

    async def _owned(self, kind: Kind, rollout: RolloutIdentity, labels: Mapping[str, str]) -> list[Manifest]:
        found = await self._cluster.list(kind, rollout.namespace, labels)
        return [one for one in found if controller_uid(one) == rollout.uid]

    async def _frozen(self, rollout: RolloutIdentity, labels: Mapping[str, str]) -> list[Manifest]:
        """Read the ControllerRevisions; only one that has its revision's own name is asked for by anybody."""
        found = await self._owned(Kinds.CONTROLLER_REVISION, rollout, labels)
        return [
            one for one in found if one["metadata"]["name"] == revision_name(rollout.name, revision_of(one))
        ]

    async def _router(
        self, rollout: RolloutIdentity, state: RolloutState, pods: Sequence[Manifest]
    ) -> tuple[RouterSeen, tuple[str, ...], tuple[ForeignEdit, ...]]:
        name = router_name(rollout.name)
        try:
            config_map = await self._cluster.get(Kinds.CONFIG_MAP, rollout.namespace, name)
        except NotFoundError:
            config_map = None
        if config_map is not None and controller_uid(config_map) != rollout.uid:
            return RouterSeen(), (f"{Kinds.CONFIG_MAP.kind}/{name}",), ()
        found = [pod_of(pod) for pod in pods]
        addresses = {pod.name: pod.ip for pod in found if pod.serves and pod.ip}
        said = await self._routers.acknowledgements(addresses)
        seen = tuple(RouterPod(pod.name, pod.serves, said.get(pod.name)) for pod in found)
        # Nothing becomes stable before there is a route.
        edited = edits_of_route(config_map, rollout, was_written=state.stable is not None)
        return read_router(config_map, seen, rollout.uid), (), edited

    async def _probe(self, manifest: Manifest) -> ProbeSeen:
        status = LoadProbeStatus.model_validate(manifest.get("status") or {})
        phase = status.phase or ProbePhase.PENDING
        try:
            result = await self._result(manifest, parse_load_probe(manifest), status)
        except (InvalidSpec, UnusableProfileError):
            result = NoEvidence(
                Problem.NOT_COMPARABLE, "the load profile of the probe cannot be read any more"
            )
        metadata = manifest["metadata"]
        told = condition_of(status, COMPLETE)
        message = told.message if told is not None else ""
        return ProbeSeen(
            name=metadata["name"],
            uid=metadata["uid"],
            phase=phase,
            finished_at=status.finished_at,
            result=result,
            message=message,
            deadline=status.deadline,
        )

    async def _result(
        self, manifest: Manifest, spec: LoadProbeSpec, status: LoadProbeStatus
    ) -> ArmEvidence | NoEvidence | None:
        if status.phase is not ProbePhase.SUCCEEDED or spec.profile is None or status.result is None:
            return None
        profile = await find_profile(self._cluster, manifest["metadata"]["namespace"], spec.profile)
        return probe_arm(status.result, profile.gate_stage)

    async def _baseline(
        self, rollout: RolloutIdentity, comparison: Comparison | None, revisions: Sequence[RevisionSeen]
    ) -> BaselineSeen | None:
        if comparison is None:
            return None
        measured = next((one.frozen for one in revisions if one.revision == comparison.revision), None)
        return await self._baselines.read(rollout.namespace, comparison, measured)


class _SideBySide:
    """Reads at the same time: once one fails no other is waited for, and its error is raised alone.

    ``asyncio.TaskGroup`` raises groups, and before Python 3.13 hides that the pass is cancelled meanwhile.
    """

    def __init__(self) -> None:
        self._reads: list[asyncio.Task[Any]] = []

    def start(self, read: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """Start one; it has its result when the block has ended."""
        task = asyncio.create_task(read)
        self._reads.append(task)
        return task

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for all."""
        try:
            await asyncio.gather(*self._reads)
        finally:
            for read in self._reads:
                read.cancel()


def _attempt_of(probe: Manifest) -> int:
    return int(probe["spec"].get("attempt") or 0)


def _of_component(pods: Sequence[Manifest], component: str) -> list[Manifest]:
    return [pod for pod in pods if pod["metadata"]["labels"].get(COMPONENT_LABEL) == component]


def _revisions(
    kept: Sequence[Manifest], deployments: Sequence[Manifest], pods: Sequence[Manifest]
) -> tuple[RevisionSeen, ...]:
    frozen = readable_revisions(kept)
    engines = {revision_of(one): one for one in deployments if revision_of(one)}
    named = sorted({*frozen, *engines, *(revision_of(pod) for pod in pods)} - {""})
    return tuple(_revision(name, frozen.get(name), engines.get(name), pods) for name in named)


def _revision(
    name: str, frozen: FrozenRevision | None, deployment: Manifest | None, pods: Sequence[Manifest]
) -> RevisionSeen:
    mine = sorted((pod_of(pod) for pod in pods if revision_of(pod) == name), key=lambda pod: pod.name)
    if deployment is None:
        return RevisionSeen(name, frozen, None, tuple(mine))
    replicas = int(deployment["spec"].get("replicas") or 0)
    return RevisionSeen(name, frozen, replicas, tuple(mine), creation_refusal(deployment))
