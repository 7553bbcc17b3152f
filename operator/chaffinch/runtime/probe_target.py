"""Whom a load probe measures: from the names in its spec to addresses of pods that are ready now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_profile
from chaffinch.api.v1alpha1.probe import CANDIDATE, STABLE, ProbeTarget
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES
from chaffinch.domain.manifests.common import ENGINE, ENGINE_PORT
from chaffinch.domain.names import COMPONENT_LABEL, REVISION_LABEL, ROLLOUT_LABEL
from chaffinch.ports.cluster import Cluster, Kinds, Manifest, NotFoundError
from chaffinch.probe.plan import prompt_mix
from chaffinch.runtime.reading import (
    UnreadableRevisionError,
    controller_uid,
    frozen_revision_of,
    pod_of,
)


class NotYetError(Exception):
    """The target is not there yet; the text says what is missing. Worth asking again."""


class TargetGoneError(Exception):
    """A pod that the spec names is gone, deleted or evicted; the text says which. It will not come back."""


class UnusableProfileError(Exception):
    """The profile is missing, broken, or asks for more than the model takes; the text names the remedy."""


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to measure.

    Attributes:
        revision: The revision that the target stands for now.
        model: The name that its engines serve the model under.
        max_model_len: The longest prompt plus output that they take, in tokens; None if nothing limits it.
        urls: One base URL per pod.
    """

    revision: str
    model: str
    max_model_len: int | None
    urls: tuple[str, ...]


async def find_target(
    cluster: Cluster, namespace: str, target: ProbeTarget, *, most: int | None = None
) -> Target:
    """Resolve a target.

    Args:
        cluster: Where to look.
        namespace: The probe's namespace.
        target: Whom its spec names.
        most: How many pods to take, the first ones by name; all if None.

    Raises:
        NotYetError: If the rollout, the revision or a ready pod is missing.
        TargetGoneError: If a pod that is named is gone, or about to be.
    """
    try:
        rollout = await cluster.get(Kinds.ROLLOUT, namespace, target.rollout)
    except NotFoundError:
        raise NotYetError(f"There is no rollout {target.rollout} in this namespace.") from None
    revision = _revision(rollout, target)
    urls = await _urls(cluster, rollout, revision, target.pods)
    # Of the revision as it was frozen: the rollout's spec may ask for another one by now, or break a rule.
    frozen = await _frozen(cluster, namespace, target.rollout, revision)
    limit = (frozen["engine"].get("args") or {}).get("maxModelLen")
    return Target(revision, frozen["model"]["name"], limit, urls[:most])


async def find_profile(cluster: Cluster, namespace: str, name: str) -> ProbeProfileSpec:
    """Return a profile by the name that specs use: a built-in, or a ProbeProfile of the namespace.

    Raises:
        UnusableProfileError: If it cannot be used.
    """
    if name in BUILT_IN_PROFILES:
        return BUILT_IN_PROFILES[name]
    try:
        return parse_profile(await cluster.get(Kinds.PROFILE, namespace, name))
    except NotFoundError:
        known = ", ".join(sorted(BUILT_IN_PROFILES))
        raise UnusableProfileError(
            f"spec.profile: there is no ProbeProfile {name}; create it, or use {known}."
        ) from None
    except InvalidSpec as error:
        raise UnusableProfileError(f"ProbeProfile {name}: {error}") from None


def check_fit(profile: ProbeProfileSpec, most: int | None) -> None:
    """Refuse a profile whose longest request is longer than the engine's context.

    Args:
        profile: The profile.
        most: The engine's context in tokens; None if nothing limits it.

    Raises:
        UnusableProfileError: If it is longer.
    """
    longest = max(tokens for tokens, _ in prompt_mix(profile.prompt)) + profile.output.tokens
    if most is not None and longest > most:
        raise UnusableProfileError(
            f"spec.profile: its longest request has {longest} tokens, and the engine's maxModelLen is {most};"
            " use a profile with shorter prompts."
        )


async def _frozen(cluster: Cluster, namespace: str, rollout: str, revision: str) -> dict[str, Any]:
    try:
        kept = await cluster.get(Kinds.CONTROLLER_REVISION, namespace, revision_name(rollout, revision))
    except NotFoundError:
        raise NotYetError(f"Revision {revision} of rollout {rollout} has no ControllerRevision.") from None
    try:
        return frozen_revision_of(kept).spec
    except UnreadableRevisionError as error:
        raise NotYetError(f"Revision {revision} of rollout {rollout}: {error}.") from None


def _revision(rollout: Manifest, target: ProbeTarget) -> str:
    status = rollout.get("status") or {}
    named = {STABLE: "stable", CANDIDATE: "candidate"}.get(target.revision)
    revision = target.revision if named is None else (status.get(named) or {}).get("revision")
    if not revision:
        raise NotYetError(f"Rollout {target.rollout} has no {target.revision} revision now.")
    return str(revision)


async def _urls(cluster: Cluster, rollout: Manifest, revision: str, only: tuple[str, ...]) -> tuple[str, ...]:
    metadata = rollout["metadata"]
    labels = {COMPONENT_LABEL: ENGINE, ROLLOUT_LABEL: metadata["name"], REVISION_LABEL: revision}
    owners = {
        controller_uid(found) for found in await cluster.list(Kinds.DEPLOYMENT, metadata["namespace"], labels)
    }
    if owners != {metadata["uid"]}:
        raise NotYetError(f"Revision {revision} of rollout {metadata['name']} has no Deployment.")
    found = [pod_of(pod) for pod in await cluster.list(Kinds.POD, metadata["namespace"], labels)]
    left = {pod.name for pod in found if not pod.terminating and pod.failed is None}
    if gone := sorted(set(only) - left):
        raise TargetGoneError(f"Pod {gone[0]} of revision {revision} is gone, or about to be.")
    pods = [pod for pod in found if pod.serves and pod.ip]
    ready = [pod for pod in pods if not only or pod.name in only]
    if not ready or len(ready) < len(only):
        missing = ", ".join(sorted(set(only) - {pod.name for pod in ready})[:4])
        what = f"pod {missing}" if missing else "any pod"
        raise NotYetError(f"Revision {revision}: waiting for {what} to become ready.")
    return tuple(f"http://{pod.ip}:{ENGINE_PORT}" for pod in sorted(ready, key=lambda pod: pod.name))
