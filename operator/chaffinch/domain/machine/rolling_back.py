"""The stage RollingBack: the route has taken the traffic off the candidate; its pods go once that holds."""

from __future__ import annotations

from datetime import timedelta

from chaffinch.domain.machine.ending import after_rollback
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next


def routers_still_send_requests(situation: Situation) -> Next | None:
    """A router has not acknowledged weight 0; it is waited for, but not for ever: the candidate is bad.

    A router that is not Ready gets no requests and is not waited for.
    """
    decision = situation.candidate.decision
    if situation.in_force or not situation.seen.router.ready_pods or decision is None:
        return None
    if situation.now >= decision.at + timedelta(seconds=situation.timing.acknowledgement):
        return None
    return Next(situation.state, requeue_after=min(1, situation.timing.active))


def it_is_out(situation: Situation) -> Next | None:
    """No request reaches the candidate any more."""
    decision = situation.candidate.decision
    if decision is None:
        raise ValueError("a rollout in stage RollingBack must have a decision")
    return situation.at_once(after_rollback(situation, decision))


CHECKS = (routers_still_send_requests, it_is_out)
