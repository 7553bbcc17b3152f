"""The state machine of a rollout: pure functions that a pass calls in this order.

::

    state       = status_codec.state_of(status)              # a status of None gives the empty state
    seen        = gather everything but evidence             # runtime -> Observation
    question    = evidence_needed(state, now)                # which requests to count, or None
    seen        = replace(seen, evidence=answer)             # Evidence or NoEvidence, if there is a question
    judgement   = assess(state, seen, now)                   # None if there is nothing to judge
    outcome     = step(spec, state, seen, judgement, now, timing=timing)
    wanted      = desired(spec, outcome.state, seen, now, timing=timing)
                  # route, manifests, scale-downs, deletions
    view        = View(spec, outcome.state, seen, judgement, now)
    status      = status_of(view, generation, previous_status)   # module rollout_status
    events      = events_of(state, outcome.state)

    STATUS_FIRST: status, manifests, route, scale-downs, deletions
    ROUTE_FIRST:  route, status, manifests, scale-downs, deletions
    not outcome.act: status only

A write that fails ends the pass; the next pass decides anew from what it sees. The status is written
if :func:`chaffinch.domain.status_update.is_due` says so; with STATUS_FIRST a write that is due has to
succeed before anything else is written. The route is written only if ``wanted.route.changed``, compared
with ``wanted.route.resource_version``, with the epoch ``max(own term, wanted.route.epoch)``.
"""

from __future__ import annotations

from chaffinch.domain.machine.judging import assess, evidence_needed
from chaffinch.domain.machine.step import step
from chaffinch.domain.machine.types import EvidenceQuestion, Next, WriteOrder

__all__ = ["EvidenceQuestion", "Next", "WriteOrder", "assess", "evidence_needed", "step"]
