"""Checks that come first in every stage: what keeps a pass from deciding anything at all."""

from __future__ import annotations

from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next


def a_read_has_failed(situation: Situation) -> Next | None:
    """Something could not be read. A failed read is never a change: everything stays as it is."""
    if not situation.seen.problems:
        return None
    return Next(situation.state, act=False, requeue_after=situation.timing.active)


def a_name_is_taken(situation: Situation) -> Next | None:
    """A child's name belongs to someone else. No object is written before a person has resolved it."""
    if not situation.seen.taken:
        return None
    state = situation.state
    if situation.judgement is not None:
        state = situation.with_candidate(step=situation.step_as_judged)
    return Next(state, act=False, requeue_after=situation.timing.stalled)


CHECKS = (a_read_has_failed, a_name_is_taken)
