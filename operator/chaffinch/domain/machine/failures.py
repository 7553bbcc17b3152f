"""Finds out from its pods that a revision cannot work, and why.

What is looked at never gets better by itself being looked at later: restarts are counted, not
readiness, so that a pod that is Ready for some seconds between two crashes resets nothing. Pods that are
on their way out, or that have ended for good, say nothing about those that take their places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.observation import CreationRefusal, Pod, RevisionSeen
from chaffinch.domain.timing import Timing

IMAGE_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
OUT_OF_MEMORY = "OOMKilled"
_REFUSALS = {
    CreationRefusal.QUOTA: Reason.QUOTA_EXCEEDED,
    CreationRefusal.ADMISSION: Reason.ADMISSION_DENIED,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a revision's pods cannot work: a reason of the ``Promoted`` condition, and the facts."""

    cause: Reason
    message: str


def failure_of(children: RevisionSeen, since: datetime, now: datetime, timing: Timing) -> Failure | None:
    """Return a failure that need not be waited for: an endless one, or an image that cannot be pulled.

    Args:
        children: The revision's children.
        since: When the attempt began.
        now: The time.
        timing: How much is too much.
    """
    endless = endless_failure_of(children, since, timing)
    if endless is not None:
        return endless
    for pod in _present(children):
        if _cannot_pull(pod) and (now - pod.created).total_seconds() >= timing.image_pull:
            return _image_pull(pod)
    return None


def endless_failure_of(children: RevisionSeen, since: datetime, timing: Timing) -> Failure | None:
    """Return what repeats without an end: a crash loop, or nodes that turn away one pod after another.

    A pod that its node turns away is replaced at once, without any pause: unless somebody stops that,
    hundreds of them are made.

    Args:
        children: The revision's children.
        since: When the attempt began; what earlier ones have left behind does not count.
        timing: How much is too much.
    """
    worst = min(_present(children), key=lambda pod: (-pod.restarts, pod.name), default=None)
    if worst is not None and worst.restarts >= timing.crash_loop_restarts:
        return _crash_loop(worst)
    ended = [pod for pod in children.pods if pod.failed and not pod.terminating and pod.created >= since]
    return _turned_away(ended) if len(ended) >= timing.pods_turned_away else None


def failure_at_deadline(
    children: RevisionSeen, ready: int, needed: int, warm_up: str | None = None
) -> Failure:
    """Return why the pods were not ready and warm in time, as specific as the pods allow.

    Args:
        children: The revision's children.
        ready: How many of its pods are ready and warm.
        needed: How many would have had to be.
        warm_up: What is wrong with their warm-up, if anything.
    """
    if children.refused is not None:
        return Failure(_REFUSALS[children.refused], "the API server refuses to create its pods")
    present = _present(children)
    for pod in present:
        if _cannot_pull(pod):
            return _image_pull(pod)
    if any(pod.unschedulable for pod in present):
        return Failure(Reason.UNSCHEDULABLE, "no node has room for its pods")
    memory = next((pod for pod in present if _out_of_memory(pod)), None)
    if memory is not None:
        return _crash_loop(memory)
    message = f"{ready} of {needed} pods were ready and warm in time"
    return Failure(Reason.PROGRESS_DEADLINE_EXCEEDED, f"{message}. {warm_up}" if warm_up else message)


def _present(children: RevisionSeen) -> list[Pod]:
    """Return the pods that could still come to work."""
    return [pod for pod in children.pods if not pod.terminating and pod.failed is None]


def _turned_away(pods: Sequence[Pod]) -> Failure:
    reasons = Counter(pod.failed for pod in pods).most_common(1)
    message = f"nodes turned away or evicted {len(pods)} of its pods, one after another ({reasons[0][0]})"
    return Failure(Reason.UNSCHEDULABLE, message)


def _cannot_pull(pod: Pod) -> bool:
    return pod.waiting in IMAGE_REASONS


def _out_of_memory(pod: Pod) -> bool:
    return pod.last_termination is not None and pod.last_termination.reason == OUT_OF_MEMORY


def _image_pull(pod: Pod) -> Failure:
    return Failure(Reason.IMAGE_PULL, f"pod {pod.name} cannot pull its image ({pod.waiting})")


def _crash_loop(pod: Pod) -> Failure:
    if _out_of_memory(pod):
        message = f"container engine of pod {pod.name} was killed for its use of memory"
        return Failure(Reason.OUT_OF_MEMORY, f"{message}, {pod.restarts} restarts")
    ending = f", exit code {pod.last_termination.exit_code}" if pod.last_termination else ""
    return Failure(
        Reason.CRASH_LOOP, f"container engine of pod {pod.name} crashed, {pod.restarts} restarts{ending}"
    )
