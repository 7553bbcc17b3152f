"""Follows a probe step's LoadProbe: a run that comes to nothing is repeated, a long one is waited for."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.strategy import ProbeStep
from chaffinch.domain.machine.judging import latest_end
from chaffinch.domain.machine.repeating import MOST_RUNS, again_at, problem_of, told
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next
from chaffinch.domain.names import step_probe_name
from chaffinch.domain.observation import ProbeSeen


def the_probe_has_no_result(situation: Situation) -> Next | None:
    """A run lost its pods, or has no usable result: that says nothing of the revision, so it is run again."""
    step, probe = situation.step_state, _probe(situation)
    if not isinstance(situation.step, ProbeStep):
        return None
    runs = step.run - step.runs_before
    if runs > MOST_RUNS:
        message = f"the canary lost pods in the last of {MOST_RUNS} runs of its load probe"
        return situation.held(situation.state, Reason.PROBE_FAILED, message, situation.now)
    problem = problem_of(probe, measures=True)
    if probe is None or problem is None:
        return None
    again = again_at(probe, runs, situation.timing)
    if again is not None and situation.now >= again:
        following = replace(step, run=step.run + 1)
        return situation.at_once(replace(situation.with_candidate(step=following), hold=None))
    message = told(probe, problem, runs, again)
    # One that is not run again needs a person now, not when the step's time is over.
    deadline = situation.now if again is None else _latest_end(situation)
    return situation.held(situation.state, Reason.PROBE_FAILED, message, deadline)


def the_probe_is_not_done(situation: Situation) -> Next | None:
    """The load is running, or about to."""
    probe = _probe(situation)
    if not isinstance(situation.step, ProbeStep) or situation.judgement is not None:
        return None
    deadline = _latest_end(situation)
    if situation.now < deadline:
        return situation.wait(replace(situation.state, hold=None))
    phase = probe.phase if probe else ProbePhase.PENDING
    message = f"the load probe of the step is still {phase}"
    return situation.held(situation.state, Reason.PROBE_FAILED, message, deadline)


def load_has_ended(situation: Situation) -> bool:
    """Say whether a probe step's load runs no more, so that it could be run again."""
    step, probe = situation.step_state, _probe(situation)
    if not isinstance(situation.step, ProbeStep):
        return False
    lost = step.run - step.runs_before > MOST_RUNS
    ended = lost or (probe is not None and probe.finished_at is not None)
    return ended and step.passed_at is None


def _latest_end(situation: Situation) -> datetime:
    return latest_end(situation.step, situation.step_state.entered_at, situation.runs)


def _probe(situation: Situation) -> ProbeSeen | None:
    if not isinstance(situation.step, ProbeStep):
        return None
    candidate, step = situation.candidate, situation.step_state
    name = step_probe_name(
        situation.seen.rollout.name, candidate.revision, candidate.attempt, step.index, step.run
    )
    return situation.seen.probe(name)
