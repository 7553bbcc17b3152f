"""Keeps the result of a load probe as a frozen baseline: one object, created once, never changed.

The baseline has no owner: it outlives the rollout that it was measured on. If an object of its name exists,
it counts as ours only if it has the very content that would be frozen now.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chaffinch.api.v1alpha1.baseline import Fingerprint, InferenceBaselineSpec, Provenance
from chaffinch.api.v1alpha1.engine import GPU_PRODUCT_LABELS, GPU_RESOURCES, ModelSpec
from chaffinch.api.v1alpha1.names import baseline_object_name, revision_name
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_baseline
from chaffinch.api.v1alpha1.probe import LoadProbeSpec, LoadProbeStatus, ProbeResult
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.baseline import BaselineError, freeze
from chaffinch.domain.observation import FrozenRevision
from chaffinch.ports.cluster import Cluster, ConflictError, Kinds, Manifest, NotFoundError
from chaffinch.runtime.probe_target import UnusableProfileError, find_profile
from chaffinch.runtime.reading import UnreadableRevisionError, frozen_revision_of

MEASURED_PODS = 1
"""A measurement loads one pod: load per pod is what two measurements must have in common."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """Whether there is a baseline now, and the words for it."""

    done: bool
    reason: Reason
    message: str


def fingerprint_of(frozen: FrozenRevision, engine_version: str) -> Fingerprint:
    """Return under which circumstances a revision is measured.

    Args:
        frozen: The revision as its ControllerRevision keeps it.
        engine_version: What the engine says that it is.
    """
    pod = frozen.template["spec"]
    container, nodes = pod["containers"][0], pod.get("nodeSelector") or {}
    limits: dict[str, Any] = (container.get("resources") or {}).get("limits") or {}
    return Fingerprint(
        engine_image=container["image"],
        engine_version=engine_version,
        engine_args=tuple(container.get("args") or ()),
        gpu_product=next((nodes[label] for label in GPU_PRODUCT_LABELS if label in nodes), ""),
        gpu_count=sum(int(limits.get(resource, 0)) for resource in GPU_RESOURCES),
        replicas=MEASURED_PODS,
    )


class Freezer:
    """Makes baselines of results."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def freeze(
        self, body: Manifest, spec: LoadProbeSpec, status: LoadProbeStatus, now: datetime
    ) -> Frozen:
        """Freeze the result of a probe that succeeded.

        Raises:
            ClusterError: If the API server could not be asked; worth trying again.
        """
        reference = spec.freeze
        if reference is None or status.result is None or not status.revision:
            return _not_frozen("There is no result to freeze.")
        name = baseline_object_name(reference.name, reference.version)
        provenance = Provenance(
            rollout=spec.target.rollout,
            revision=status.revision,
            probe=body["metadata"]["name"],
            created_at=status.finished_at or now,
        )
        try:
            baseline = await self._baseline(body["metadata"]["namespace"], spec, status.result, provenance)
        except (BaselineError, UnusableProfileError, UnreadableRevisionError) as error:
            return _not_frozen(f"Not frozen as {name}: {error}.")
        except NotFoundError:
            return _not_frozen(f"Not frozen as {name}: revision {status.revision} is gone.")
        return await self._keep(body["metadata"]["namespace"], name, baseline)

    async def _baseline(
        self, namespace: str, spec: LoadProbeSpec, result: ProbeResult, provenance: Provenance
    ) -> InferenceBaselineSpec:
        assert spec.freeze is not None  # noqa: S101 - freeze() has looked
        name = revision_name(provenance.rollout, provenance.revision)
        kept = await self._cluster.get(Kinds.CONTROLLER_REVISION, namespace, name)
        frozen = frozen_revision_of(kept)
        return freeze(
            spec.freeze,
            model=ModelSpec.model_validate(frozen.spec["model"]),
            fingerprint=fingerprint_of(frozen, result.engine_version or "unknown"),
            profile=await find_profile(self._cluster, namespace, spec.profile or ""),
            result=result,
            provenance=provenance,
        )

    async def _keep(self, namespace: str, name: str, baseline: InferenceBaselineSpec) -> Frozen:
        manifest = {
            "apiVersion": Kinds.BASELINE.api_version,
            "kind": Kinds.BASELINE.kind,
            "metadata": {"namespace": namespace, "name": name},
            "spec": baseline.model_dump(mode="json", by_alias=True, exclude_none=True),
        }
        try:
            await self._cluster.create(manifest)
        except ConflictError:
            if not await self._is_there(namespace, name, baseline):
                message = f"InferenceBaseline {name} exists and never changes; freeze under another version."
                return Frozen(done=False, reason=Reason.NAME_TAKEN, message=message)
        message = f"Frozen as InferenceBaseline {name}, {baseline.digest}."
        return Frozen(done=True, reason=Reason.AS_EXPECTED, message=message)

    async def _is_there(self, namespace: str, name: str, baseline: InferenceBaselineSpec) -> bool:
        try:
            found = parse_baseline(await self._cluster.get(Kinds.BASELINE, namespace, name))
        except InvalidSpec:
            return False
        return found.digest == baseline.digest


def _not_frozen(message: str) -> Frozen:
    return Frozen(done=False, reason=Reason.PROBE_FAILED, message=message)
