"""Follows the LoadProbe of a probe step: a run that failed is repeated, a run that lasts is waited for."""

from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.strategy import ProbeStep
from chaffinch.domain.machine.judging import max_wait
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next
from chaffinch.domain.names import step_probe_name
from chaffinch.domain.observation import ProbeSeen

MOST_RUNS = 3


def the_probe_has_failed(situation: Situation) -> Next | None:
    """The load generator ended without a result. That says nothing about the revision: it is run again."""
    probe, step = _probe(situation), situation.step_state
    if probe is None or probe.phase is not ProbePhase.FAILED:
        return None
    if step.run < MOST_RUNS:
        again = replace(step, run=step.run + 1)
        return situation.at_once(replace(situation.with_candidate(step=again), hold=None))
    message = f"LoadProbe {probe.name} failed; so did the {MOST_RUNS - 1} before it"
    deadline = step.entered_at + max_wait(situation.step)
    return situation.held(situation.state, Reason.PROBE_FAILED, message, deadline)


def the_probe_is_not_done(situation: Situation) -> Next | None:
    """The load is running, or about to."""
    probe = _probe(situation)
    if not isinstance(situation.step, ProbeStep) or situation.judgement is not None:
        return None
    deadline = situation.step_state.entered_at + max_wait(situation.step)
    if situation.now < deadline:
        return situation.wait(replace(situation.state, hold=None))
    phase = probe.phase if probe else ProbePhase.PENDING
    message = f"the load probe of the step is still {phase}"
    return situation.held(situation.state, Reason.PROBE_FAILED, message, deadline)


def _probe(situation: Situation) -> ProbeSeen | None:
    if not isinstance(situation.step, ProbeStep):
        return None
    candidate, step = situation.candidate, situation.step_state
    name = step_probe_name(
        situation.seen.rollout.name, candidate.revision, candidate.attempt, step.index, step.run
    )
    return situation.seen.probe(name)
