"""Builds the LoadProbes of an attempt: those that warm pods, and those that measure."""

from __future__ import annotations

from collections.abc import Mapping

from chaffinch.api.v1alpha1.common import API_VERSION
from chaffinch.api.v1alpha1.strategy import ProbeStep, WarmUpStep
from chaffinch.domain.manifests.common import Manifest, metadata
from chaffinch.domain.names import RolloutIdentity, step_probe_name, warm_up_name
from chaffinch.domain.state import Candidate, StepState, WarmUp

PROBE = "probe"


def warm_up_probe(
    rollout: RolloutIdentity, candidate: Candidate, step: WarmUpStep, warm_up: WarmUp
) -> Manifest:
    """Return the LoadProbe that warms some pods; nothing is measured."""
    name = warm_up_name(rollout.name, candidate.revision, candidate.attempt, warm_up.serial)
    load = {"warmUp": {"requests": step.requests, "concurrency": step.concurrency}}
    return _probe(rollout, candidate, name, tuple(pod.name for pod in warm_up.pods), load)


def step_probe(
    rollout: RolloutIdentity, candidate: Candidate, step: ProbeStep, at: StepState, pods: tuple[str, ...]
) -> Manifest:
    """Return the LoadProbe of a probe step, aimed at the candidate's warm pods."""
    name = step_probe_name(rollout.name, candidate.revision, candidate.attempt, at.index, at.run)
    return _probe(rollout, candidate, name, pods, {"profile": step.profile})


def _probe(
    rollout: RolloutIdentity,
    candidate: Candidate,
    name: str,
    pods: tuple[str, ...],
    load: Mapping[str, object],
) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "LoadProbe",
        "metadata": metadata(rollout, name, PROBE, candidate.revision),
        "spec": {
            "target": {"rollout": rollout.name, "revision": candidate.revision, "pods": list(pods)},
            "attempt": candidate.attempt,
            **load,
        },
    }
