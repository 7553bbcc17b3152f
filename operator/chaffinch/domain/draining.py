"""Says whether a revision that is out may stop: no router has a request of it under way any more.

An engine that is stopped aborts the answers that it is giving, so its pods are kept until the last stream
has ended. Routers can see that; a revision without requests goes at once.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from chaffinch.domain.observation import Observation, RevisionSeen, RouterPod
from chaffinch.domain.state import RolloutState
from chaffinch.domain.timing import Timing


def live_revisions(state: RolloutState) -> tuple[str, ...]:
    """Return the revisions that are to have pods: stable and the candidate."""
    stable = (state.stable.revision,) if state.stable else ()
    return (*stable, state.candidate.revision) if state.candidate else stable


def left_over(state: RolloutState, seen: Observation) -> list[RevisionSeen]:
    """Return the revisions that are out and still have a Deployment of some size."""
    live = live_revisions(state)
    return [each for each in seen.revisions if each.revision not in live and each.desired_replicas]


def may_stop(revision: str, state: RolloutState, seen: Observation, now: datetime, timing: Timing) -> bool:
    """Say whether a revision's pods may go.

    Args:
        revision: A revision that is out.
        state: What is remembered.
        seen: What was observed.
        now: The time.
        timing: How long answers are waited for, from the end of the last attempt.
    """
    stored = seen.router.route
    if stored is None or stored.intent.weight_of(revision) > 0:
        return False
    return now >= _out_since(state, now) + timedelta(seconds=timing.drain) or not any(
        _may_have_requests(pod, revision) for pod in seen.router.pods
    )


def _may_have_requests(router: RouterPod, revision: str) -> bool:
    """Say whether a router may have requests of a revision. One that ends is asked as well.

    One that is neither Ready nor answers has not begun yet, or is gone.
    """
    if router.acknowledgement is None:
        return router.ready
    given = router.acknowledgement.open
    return given is None or given.get(revision, 0) > 0


def _out_since(state: RolloutState, now: datetime) -> datetime:
    if state.last_attempt is not None:
        return state.last_attempt.ended_at
    return state.stable.since if state.stable is not None else now
