"""Keeps nodes that turn pods away from having them made without an end.

A pod that its node turns away (``UnexpectedAdmissionError``, ``OutOfcpu``) has failed for good, and its
ReplicaSet makes another one at once: hundreds in a few minutes, each of which the API server keeps. That ends
only if no more pods are asked for than nodes have taken. So a storm caps the size of the revision at those,
which takes no pod from anybody, and one pod more is asked for after a while, later each time.

Of several pods that are turned away side by side too many are made before a pass has seen the first. So a
revision grows by one pod at a time: the next one is asked for when nodes have taken those before, or have no
room for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.domain.observation import Observation, Pod, RevisionSeen
from chaffinch.domain.state import PodStorm, RolloutState
from chaffinch.domain.timing import Timing

_MOST_DOUBLINGS = 5
_GRAIN = timedelta(seconds=1)
"""When a pod was made is told in whole seconds."""


def followed(
    storm: PodStorm | None, children: RevisionSeen, wanted: int, now: datetime, timing: Timing
) -> PodStorm | None:
    """Return the storm that a revision is in after a pass; None if it is in none.

    Args:
        storm: The storm that it was in.
        children: The revision's children.
        wanted: How many pods it is to have.
        now: The time.
        timing: How many pods in which time are a storm, and how long the first pause is.
    """
    if storm is None:
        since = now - timedelta(seconds=timing.turned_away_within)
        turned_away = len(_turned_away(children, since))
        if turned_away < timing.pods_turned_away:
            return None
        return PodStorm(children.revision, now, turned_away, 0, _again_at(now, 0, timing))
    if now < storm.again_at:
        return storm
    turned_away = len(_turned_away(children, storm.again_at - _GRAIN))
    if turned_away:
        tries = storm.tries + 1
        made = storm.turned_away + turned_away
        return PodStorm(storm.revision, storm.since, made, tries, _again_at(now, tries, timing))
    return storm if len(_taken(children, now, timing)) < wanted else None


def most_pods(storm: PodStorm, children: RevisionSeen, now: datetime, timing: Timing) -> int:
    """Return how many pods may be asked for in a storm: those that nodes have taken, at times one more.

    No Ready pod goes: of too many, a ReplicaSet deletes those first that do not run, or are not Ready.
    """
    taken = len(_taken(children, now, timing))
    return taken if now < storm.again_at else taken + 1


def capped(
    sizes: Mapping[str, int], state: RolloutState, seen: Observation, now: datetime, timing: Timing
) -> dict[str, int]:
    """Return how many pods of each revision are asked for now.

    One pod at most of which nothing is known yet. A canary that is taken out while nodes turn its pods away
    is not given what it lacks. If stable has lost its Deployment, it is given back all at once: users wait.

    Args:
        sizes: How many each is to have.
        state: What is remembered.
        seen: What was observed.
        now: The time.
        timing: When a pod counts as taken.
    """
    most = {
        each.revision: most_pods(each, seen.revision(each.revision), now, timing) for each in state.storms
    }
    if state.candidate is not None and state.stage is RolloutStage.ROLLING_BACK:
        leaving = seen.revision(state.candidate.revision)
        if len(_turned_away(leaving, state.candidate.started_at)) >= timing.pods_turned_away:
            most[leaving.revision] = len(_taken(leaving, now, timing))
    for revision, wanted in sizes.items():
        children = seen.revision(revision)
        serves = state.stable is not None and state.stable.revision == revision
        if not serves or children.desired_replicas is not None:
            most[revision] = min(most.get(revision, wanted), _next_size(children, now, timing))
    return {revision: min(wanted, most.get(revision, wanted)) for revision, wanted in sizes.items()}


def kept_revisions(state: RolloutState) -> tuple[str, ...]:
    """Return the revisions that storms are followed of: a canary that meets one is rolled back instead."""
    stable, candidate = state.stable, state.candidate
    kept = () if stable is None else (stable.revision,)
    if candidate is not None and (stable is None or state.stage is RolloutStage.PROMOTING):
        return (*kept, candidate.revision)
    return kept


def _next_size(children: RevisionSeen, now: datetime, timing: Timing) -> int:
    """Return how large a revision may be: as it is, or one more than those of its pods that are on their way.

    A pod that waits for room is turned away by none, and a cluster that has to grow is to know by how much.
    """
    on_their_way = len(_taken(children, now, timing, or_without_room=True))
    return max(children.desired_replicas or 0, on_their_way + 1)


def _turned_away(children: RevisionSeen, since: datetime) -> list[Pod]:
    """Return the pods made since then that are over by now, but for those that somebody has deleted.

    One that is evicted later is older.
    """
    return [pod for pod in children.pods if pod.failed and not pod.terminating and pod.created >= since]


def _taken(
    children: RevisionSeen, now: datetime, timing: Timing, *, or_without_room: bool = False
) -> list[Pod]:
    """Return the pods that their nodes have taken: they have said so, or would have turned them away."""
    settled = now - timedelta(seconds=timing.settled)
    present = [pod for pod in children.pods if pod.failed is None and not pod.terminating]
    return [
        pod
        for pod in present
        if pod.accepted or pod.created <= settled or (or_without_room and pod.unschedulable)
    ]


def _again_at(now: datetime, tries: int, timing: Timing) -> datetime:
    return now + timedelta(seconds=timing.turned_away_retry * 2 ** min(tries, _MOST_DOUBLINGS))
