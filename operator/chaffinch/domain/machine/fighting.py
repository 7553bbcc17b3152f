"""What becomes of a rollout whose router somebody else changes again and again.

Weights that somebody else sets are nobody's evidence, and who writes the route has the traffic. What can be
kept is that every pod which a route may name is there: no revision is made smaller for the sake of the
attempt, and none is started. With the last write of its own the canary gives its traffic back to stable.
"""

from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.capacity import attempt_replicas, weight_of_step
from chaffinch.domain.intent import route_order
from chaffinch.domain.machine.silence import MOST_WEIGHT
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.strength import begun_anew, with_all_its_time
from chaffinch.domain.machine.types import Next, WriteOrder
from chaffinch.domain.observation import ForeignEdit
from chaffinch.domain.router_edits import counted, route_object
from chaffinch.domain.state import RolloutState
from chaffinch.domain.wording import fight_for_router


def with_router_edits(situation: Situation) -> Situation:
    """Return the situation with what others have changed of the router's objects counted."""
    state, now = situation.state, situation.now
    if state.is_empty:
        return situation
    edits = counted(state.router_edits, _edits(situation), now, situation.timing)
    if state.router_fight is not None and edits is None:
        return replace(situation, state=after_fight(situation))
    return replace(situation, state=replace(state, router_edits=edits))


def somebody_fights_for_the_router(situation: Situation) -> Next | None:
    """Others have changed the router's objects too often: nothing moves on, and the canary has no weight."""
    fight, candidate = situation.state.router_fight, situation.state.candidate
    if fight is None:
        return None
    if candidate is None:
        return Next(situation.state, requeue_after=situation.timing.stalled)
    state, order = situation.state, WriteOrder.STATUS_FIRST
    if situation.state.stage is RolloutStage.STEPPING and candidate.weight and _stable_carries(situation):
        state, order = begun_anew(situation, weight=0), WriteOrder.ROUTE_FIRST
    held = situation.held(state, Reason.ROUTE_FIGHT, fight_for_router(fight), None)
    return replace(held, order=order, requeue_after=situation.timing.stalled)


def after_fight(situation: Situation) -> RolloutState:
    """Return the state in which nothing was changed by others; an attempt gets new time for what it is at."""
    state, candidate = replace(situation.state, router_edits=None), situation.state.candidate
    if candidate is None:
        return state
    deadline = candidate.deadline
    if deadline is not None:
        deadline = situation.after(candidate.plan.strategy.progress_deadline_seconds)
    step = candidate.step
    if state.stage is RolloutStage.STEPPING and weight_of_step(situation.step) > 0:
        step = with_all_its_time(situation)
    hold = state.hold if state.hold is not None and state.hold.reason != Reason.ROUTE_FIGHT else None
    return replace(state, candidate=replace(candidate, deadline=deadline, step=step), hold=hold)


def _edits(situation: Situation) -> tuple[ForeignEdit, ...]:
    """Return what has to be put back. A route that somebody wrote as it is wanted has not."""
    seen, route = situation.seen, route_object(situation.seen.rollout)
    if not seen.edited:
        return ()
    is_wanted = not route_order(situation.spec, situation.state, seen).changed
    return tuple(edit for edit in seen.edited if edit.object != route or not is_wanted)


def _stable_carries(situation: Situation) -> bool:
    """Say whether stable can take the canary's traffic: it is there in full, or has most of it already."""
    needed = attempt_replicas(situation.spec, situation.state, situation.seen)
    ready = len(situation.stable_serving)
    return ready >= needed or (ready > 0 and situation.candidate.weight <= MOST_WEIGHT)
