"""Says when load that came to nothing is run again: less and less often, and not for ever.

A load probe that ends without a usable result says nothing about the revision: its image could not be
pulled, its pod was evicted, the generator did not keep up. One more run may well do; a hundred more would
only hide the trouble from the person who has to look at it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.domain.evidence import NoEvidence
from chaffinch.domain.observation import ProbeSeen
from chaffinch.domain.timing import Timing
from chaffinch.domain.wording import moment

MOST_RUNS = 3
"""How many times in a row the same load is tried."""


def again_at(probe: ProbeSeen, runs: int, timing: Timing) -> datetime | None:
    """Return when load is to be run again; None if it has been run often enough.

    Args:
        probe: The run that came to nothing.
        runs: Which one in a row it is, from 1. Each further one is waited with twice as long.
        timing: How long the first one is waited with.

    Raises:
        ValueError: If the run has not ended.
    """
    if probe.finished_at is None:
        raise ValueError(f"LoadProbe {probe.name} has not ended")
    if runs >= MOST_RUNS:
        return None
    return probe.finished_at + timedelta(seconds=timing.load_retry * 2 ** (runs - 1))


def problem_of(probe: ProbeSeen | None, *, measures: bool) -> str | None:
    """Return why a run came to nothing, in the probe's own words; None if it did not, or may not.

    Args:
        probe: The run; None if it has not begun.
        measures: Whether a result is expected of it; a warm-up has none.
    """
    if probe is None or probe.finished_at is None:
        return None
    if probe.phase is ProbePhase.FAILED:
        return probe.message or "it ended without a result"
    if not measures or probe.phase is not ProbePhase.SUCCEEDED:
        return None
    if isinstance(probe.result, NoEvidence):
        return probe.result.detail
    return "it has no result" if probe.result is None else None


def told(probe: ProbeSeen, problem: str, runs: int, again: datetime | None) -> str:
    """Say what came of a run, and when the next one is."""
    what_next = f"again at {moment(again)}" if again is not None else "it is not run again by itself"
    return f"LoadProbe {probe.name} (run {runs} of {MOST_RUNS}) came to nothing, {what_next}: {problem}"
