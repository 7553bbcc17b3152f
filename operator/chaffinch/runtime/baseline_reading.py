"""Reads the baseline that a rollout names, and says whether it can be compared with.

It is checked at every use: content against digest, circumstances against those of the revision that is
measured, load against the profile of the step. What fails is named, and none of its numbers is handed on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.engine import ModelSpec
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_baseline
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.baseline import comparison_obstacles, gate_arm, verify
from chaffinch.domain.observation import BaselineSeen, FrozenRevision
from chaffinch.ports.cluster import Cluster, Kinds, NotFoundError
from chaffinch.runtime.freezing import fingerprint_of
from chaffinch.runtime.probe_target import UnusableProfileError, find_profile


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared with what.

    Attributes:
        baseline: Name of the InferenceBaseline.
        revision: The revision that is measured.
        profile: Name of the load profile of the probe step; None if no step measures.
    """

    baseline: str
    revision: str
    profile: str | None


class BaselineReader:
    """Reads and checks baselines."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def read(
        self, namespace: str, comparison: Comparison, measured: FrozenRevision | None
    ) -> BaselineSeen:
        """Read a baseline.

        Args:
            namespace: Where it is.
            comparison: Which one, and what it is to be compared with.
            measured: The revision that is measured; None before it was frozen, when there is
                nothing to compare yet.

        Raises:
            ClusterError: If the API server could not be asked.
        """
        name = comparison.baseline
        try:
            body = await self._cluster.get(Kinds.BASELINE, namespace, name)
        except NotFoundError:
            detail = f"there is no InferenceBaseline {name}; freeze it, or name another one in spec.baseline"
            return BaselineSeen(name, found=False, problem=Reason.BASELINE_NOT_FOUND, detail=detail)
        uid = str(body["metadata"]["uid"])
        try:
            spec = parse_baseline(body)
        except InvalidSpec as error:
            return BaselineSeen(
                name, found=True, uid=uid, problem=Reason.BASELINE_TAMPERED, detail=str(error)
            )
        seen = BaselineSeen(name, found=True, uid=uid, digest=spec.digest)
        wrong = verify(spec, name)
        if wrong is not None:
            return replace(seen, problem=Reason.BASELINE_TAMPERED, detail=wrong)
        profile = await self._profile(namespace, comparison)
        differing = _obstacles(spec, measured, profile)
        if differing:
            detail = f"it was measured with another {', '.join(differing)}"
            return replace(seen, problem=Reason.BASELINE_MISMATCH, detail=detail)
        return replace(seen, gate=gate_arm(spec))

    async def _profile(self, namespace: str, comparison: Comparison) -> ProbeProfileSpec | None:
        if comparison.profile is None:
            return None
        try:
            return await find_profile(self._cluster, namespace, comparison.profile)
        except UnusableProfileError:
            return None


def _obstacles(
    spec: InferenceBaselineSpec, measured: FrozenRevision | None, profile: ProbeProfileSpec | None
) -> tuple[str, ...]:
    if measured is None:
        return ()
    return comparison_obstacles(
        spec,
        fingerprint=fingerprint_of(measured, spec.fingerprint.engine_version),
        model=ModelSpec.model_validate(measured.spec["model"]),
        profile=profile or spec.profile,
    )
