"""The state machine of a rollout: pure functions that a pass calls in this order.

::

    state       = status_codec.state_of(status)              # None or {} gives the empty state
    observation = gather everything but evidence             # runtime
    question    = evidence_needed(state, observation, now)   # which requests to count, or None
    evidence    = ask the evidence port, if there is a question
    observation = replace(observation, evidence=evidence)
    judgement   = assess(state, observation, now)            # None if there is nothing to judge
    outcome     = step(spec, state, observation, judgement, now, timing)
    wanted      = desired(spec, outcome.state, observation)  # route, manifests, scale-downs, deletions
    status      = next_status(spec, generation, previous, outcome.state, observation, judgement, wanted, now)
    events      = events_of(state, outcome.state)

    order STATUS_FIRST: status, manifests, route, scale-downs, deletions
    order ROUTE_FIRST:  route, status, manifests, scale-downs, deletions
    not outcome.act:    status only

A write that fails ends the pass; the next pass decides anew from what it sees. The status is written
if :func:`chaffinch.domain.status_update.is_due` says so; with STATUS_FIRST a write that is due has to
succeed before anything else is written. The route is written only if ``wanted.route.changed``, compared
with ``wanted.route.resource_version``.
"""

from __future__ import annotations

from chaffinch.domain.machine.types import EvidenceQuestion, Next, WriteOrder

__all__ = ["EvidenceQuestion", "Next", "WriteOrder"]
