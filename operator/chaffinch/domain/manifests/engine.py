"""Builds the objects of one engine revision: ControllerRevision, Deployment, Service, disruption budget."""

from __future__ import annotations

from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.strategy import startup_seconds
from chaffinch.domain.manifests.common import ENGINE, ENGINE_PORT, Manifest, engine_selector, metadata
from chaffinch.domain.manifests.pod import pod_template
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import FrozenRevision
from chaffinch.domain.revision import HASH_VERSION, canonical

PROGRESS_SECONDS_ON_TOP = 120
"""The Deployment's own progress deadline exceeds the engine's start-up budget by this."""


def frozen_revision(rollout: str, revision: str, spec: InferenceRolloutSpec, number: int) -> FrozenRevision:
    """Render and freeze a revision.

    Args:
        rollout: Name of the rollout.
        revision: The revision that ``spec`` stands for.
        spec: The rollout's spec.
        number: The attempt that makes it.
    """
    template = pod_template(rollout, revision, spec)
    return FrozenRevision(number, HASH_VERSION, template, canonical(spec), startup_seconds(spec))


def controller_revision(rollout: RolloutIdentity, revision: str, frozen: FrozenRevision) -> Manifest:
    """Return the object that keeps a frozen revision; its data cannot be changed."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata(rollout, revision_name(rollout.name, revision), ENGINE, revision),
        "revision": frozen.number,
        "data": {
            "hashVersion": frozen.hash_version,
            "spec": frozen.spec,
            "template": frozen.template,
            "startupSeconds": frozen.startup_seconds,
        },
    }


def deployment(rollout: RolloutIdentity, revision: str, frozen: FrozenRevision, replicas: int) -> Manifest:
    """Return a revision's Deployment, made from its frozen template."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(rollout, revision_name(rollout.name, revision), ENGINE, revision),
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 1,
            "progressDeadlineSeconds": frozen.startup_seconds + PROGRESS_SECONDS_ON_TOP,
            "selector": {"matchLabels": engine_selector(rollout.name, revision)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": frozen.template,
        },
    }


def service(rollout: RolloutIdentity, revision: str) -> Manifest:
    """Return a revision's headless Service: routers take the pods' addresses from its EndpointSlices."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(rollout, revision_name(rollout.name, revision), ENGINE, revision),
        "spec": {
            "clusterIP": "None",
            "selector": engine_selector(rollout.name, revision),
            "ports": [{"name": "http", "port": ENGINE_PORT, "targetPort": ENGINE_PORT, "protocol": "TCP"}],
        },
    }


def disruption_budget(rollout: RolloutIdentity, revision: str) -> Manifest:
    """Return a revision's disruption budget: nodes are drained one engine pod at a time."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(rollout, revision_name(rollout.name, revision), ENGINE, revision),
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": engine_selector(rollout.name, revision)},
        },
    }
