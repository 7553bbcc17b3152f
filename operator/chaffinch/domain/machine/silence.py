"""Takes a canary's weight back when for minutes nobody has been able to tell what becomes of its requests.

Routers go on routing when the operator cannot reach their agents. As long as what they count can still be
read, harm is found; when that has ended, too, the canary is unobserved. A small share is then taken back, so
that routers which come up again do not send users to a revision that nothing watches. Its pods stay.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain.capacity import weight_of_step
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.strength import begun_anew
from chaffinch.domain.machine.types import Next, WriteOrder
from chaffinch.domain.verdict import EvidenceReason

MOST_WEIGHT = FULL_WEIGHT // 2
"""More than this is left where it is: stable's pods would not be sure to carry it."""

_UNREAD = frozenset({EvidenceReason.UNAVAILABLE, EvidenceReason.NO_DATA, EvidenceReason.STALE_DATA})


def no_router_answers(situation: Situation) -> Next | None:
    """No router says what it does: nothing goes on, and after some minutes without evidence weight goes."""
    if weight_of_step(situation.step) == 0 or any(pod.acknowledgement for pod in situation.seen.router.pods):
        return None
    patience = timedelta(seconds=situation.timing.agents_lost)
    message = "no router can be asked what it does"
    held = situation.held(situation.state, Reason.ROUTERS_SILENT, message, situation.now + patience)
    hold, candidate = held.state.hold, situation.candidate
    over = hold is not None and situation.now >= hold.since + patience
    if not over or _is_measured(situation) or not 0 < candidate.weight <= MOST_WEIGHT:
        return held
    state = replace(begun_anew(situation, weight=0), hold=hold)
    return replace(held, state=state, order=WriteOrder.ROUTE_FIRST)


def _is_measured(situation: Situation) -> bool:
    return situation.judgement is not None and situation.judgement.reason not in _UNREAD
