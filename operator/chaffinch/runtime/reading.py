"""From objects of the API server to values of the domain: pure, and suspicious of what is not there.

An absent field is read as the state in which nothing may be concluded from it: a pod without a Ready
condition is not ready, a Deployment without a count has no pods.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeAlias

from chaffinch.domain.manifests.common import ENGINE
from chaffinch.domain.names import REVISION_LABEL
from chaffinch.domain.observation import CreationRefusal, FrozenRevision, Pod, Termination
from chaffinch.ports.cluster import Manifest

Address: TypeAlias = tuple[str, str]
"""Kind and name of an object, within one namespace."""

_LONGEST_WORD = 64
_WORD = re.compile("[A-Za-z0-9]+")
_FAILED = re.compile("OutOf[A-Za-z0-9./_-]+|[A-Za-z0-9]+")
"""A kubelet without room names what it lacks: ``OutOfcpu``, ``OutOfnvidia.com/gpu``."""


class UnreadableRevisionError(ValueError):
    """A ControllerRevision is not one that Chaffinch wrote; the text says what to do."""


def controller_uid(manifest: Manifest) -> str | None:
    """Return the uid of the controller that owns an object, if it has one."""
    owners = manifest["metadata"].get("ownerReferences") or ()
    return next((owner.get("uid") for owner in owners if owner.get("controller")), None)


def address_of(manifest: Manifest) -> Address:
    """Return kind and name of an object."""
    return manifest["kind"], manifest["metadata"]["name"]


def revision_of(manifest: Manifest) -> str:
    """Return the revision that an object is labelled with; empty if it is not."""
    return str((manifest["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))


def moment(text: object) -> datetime | None:
    """Read a time of the API server; None if there is none."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return None


def pod_of(manifest: Manifest) -> Pod:
    """Read an engine pod."""
    metadata, status = manifest["metadata"], manifest.get("status") or {}
    ready = _condition(status, "Ready")
    is_ready = ready.get("status") == "True"
    scheduled = _condition(status, "PodScheduled")
    container = _container(status.get("containerStatuses") or ())
    state = container.get("state") or {}
    waiting = state.get("waiting") or {}
    return Pod(
        name=metadata["name"],
        uid=metadata["uid"],
        created=datetime.fromisoformat(metadata["creationTimestamp"]),
        ip=status.get("podIP") or None,
        ready=is_ready,
        ready_since=moment(ready.get("lastTransitionTime")) if is_ready else None,
        restarts=int(container.get("restartCount") or 0),
        waiting=_word(waiting.get("reason")),
        last_termination=_termination(container),
        unschedulable=scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable",
        terminating="deletionTimestamp" in metadata,
        started=moment((state.get("running") or {}).get("startedAt")),
        failed=_end(status),
        # A kubelet tells it with the first word that it says of a pod, also of one that it turns away.
        accepted=bool(status.get("startTime")) and _end(status) is None,
    )


def creation_refusal(deployment: Manifest) -> CreationRefusal | None:
    """Say why the API server refuses a Deployment's pods, if it does.

    The controller reports the refusal only as text; it is looked at to tell a quota from the rest.
    """
    condition = _condition(deployment.get("status") or {}, "ReplicaFailure")
    if condition.get("status") != "True":
        return None
    quota = "exceeded quota" in str(condition.get("message"))
    return CreationRefusal.QUOTA if quota else CreationRefusal.ADMISSION


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == kind:
            found: Mapping[str, Any] = condition
            return found
    return {}


def _container(statuses: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next((status for status in statuses if status.get("name") == ENGINE), {})


def _termination(container: Mapping[str, Any]) -> Termination | None:
    """Return how the container ended: now, if it is not running, or else the last time."""
    for state in ("state", "lastState"):
        ended = (container.get(state) or {}).get("terminated")
        if ended:
            return Termination(int(ended.get("exitCode") or 0), _word(ended.get("reason")) or "Error")
    return None


def _end(status: Mapping[str, Any]) -> str | None:
    """Return why a pod is over for good, if it is.

    A pod that is evicted while its engine ends in good order is Succeeded, and nothing tells why.
    """
    ends = {"Failed": "Failed", "Succeeded": "Completed"}
    phase = status.get("phase")
    return (_word(status.get("reason"), _FAILED) or ends[phase]) if phase in ends else None


def _word(value: object, pattern: re.Pattern[str] = _WORD) -> str | None:
    # Reasons are single words of Kubernetes; anything else is nobody's reason.
    fits = isinstance(value, str) and len(value) <= _LONGEST_WORD and pattern.fullmatch(value) is not None
    return str(value) if fits else None


def frozen_revision_of(manifest: Manifest) -> FrozenRevision:
    """Read a ControllerRevision.

    Raises:
        UnreadableRevisionError: If it is not one that Chaffinch wrote.
    """
    match manifest:
        case {
            "revision": int(number),
            "data": {
                "hashVersion": int(hash_version),
                "template": {"spec": {"containers": [{}, *_]}} as template,
                "spec": {"model": {}, "engine": {}} as spec,
                "startupSeconds": int(startup_seconds),
            },
        }:
            return FrozenRevision(number, hash_version, dict(template), dict(spec), startup_seconds)
    raise UnreadableRevisionError("the ControllerRevision is not one that Chaffinch wrote; delete it")


def readable_revisions(manifests: Iterable[Manifest]) -> dict[str, FrozenRevision]:
    """Return the frozen revisions by name; what cannot be read as one is nothing that anybody froze."""
    found = {}
    for manifest in manifests:
        with suppress(UnreadableRevisionError):
            found[revision_of(manifest)] = frozen_revision_of(manifest)
    return found
