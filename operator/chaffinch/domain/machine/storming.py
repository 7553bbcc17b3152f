"""Follows storms of pods that nodes turn away, where they do not end the attempt."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from chaffinch.domain.capacity import stable_pods
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next
from chaffinch.domain.pod_storms import followed, kept_revisions


def with_pod_storms(situation: Situation) -> Situation:
    """Return the situation with the storms of stable, of a first revision and of a promotion."""
    state, seen = situation.state, situation.seen
    wanted = stable_pods(situation.spec, state, seen)
    storms = [
        followed(state.storm_of(each), seen.revision(each), wanted, situation.now, situation.timing)
        for each in kept_revisions(state)
    ]
    return replace(situation, state=replace(state, storms=tuple(each for each in storms if each is not None)))


def with_next_try(following: Next, now: datetime) -> Next:
    """Return what comes next, with a pass at the moment at which one pod more is asked for in a storm."""
    tries = [(storm.again_at - now).total_seconds() for storm in following.state.storms]
    soonest = min((seconds for seconds in tries if seconds > 0), default=following.requeue_after)
    return replace(following, requeue_after=min(following.requeue_after, soonest))
