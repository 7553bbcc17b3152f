"""Keeps account of which pods of the candidate are warm.

A pod gets traffic only after a warm-up has reached it, be it one of the first or one that was added, or
came back, at a later step. A container that restarted is cold again. Without a warm-up step, Ready is
warm.
"""

from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.api.v1alpha1.status import RolloutStage
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.names import warm_up_name
from chaffinch.domain.state import Candidate, WarmPod, WarmUp


def with_warm_pods(situation: Situation) -> Situation:
    """Return the situation with the candidate's warm pods and warm-up brought up to date."""
    if situation.state.candidate is None or situation.state.stage is RolloutStage.ROLLING_BACK:
        return situation
    candidate = _without_cold_pods(situation, situation.candidate)
    if candidate.plan.strategy.warm_up is None:
        candidate = replace(candidate, warmed=_ready(situation))
    else:
        candidate = _begun(situation, _ended(situation, candidate))
    return replace(situation, state=replace(situation.state, candidate=candidate))


def _present(situation: Situation) -> set[WarmPod]:
    return {WarmPod(pod.name, pod.restarts) for pod in situation.children.pods if not pod.terminating}


def _ready(situation: Situation) -> tuple[WarmPod, ...]:
    return tuple(sorted(WarmPod(pod.name, pod.restarts) for pod in situation.children.pods if pod.serves))


def _without_cold_pods(situation: Situation, candidate: Candidate) -> Candidate:
    present = _present(situation)
    return replace(candidate, warmed=tuple(pod for pod in candidate.warmed if pod in present))


def _ended(situation: Situation, candidate: Candidate) -> Candidate:
    """Take the result of the warm-up that runs, or give it up when none of its pods is left."""
    warm_up = candidate.warm_up
    if warm_up is None:
        return candidate
    present = _present(situation)
    left = tuple(pod for pod in warm_up.pods if pod in present)
    name = warm_up_name(situation.seen.rollout.name, candidate.revision, candidate.attempt, warm_up.serial)
    probe = situation.seen.probe(name)
    if probe is not None and probe.phase is ProbePhase.SUCCEEDED:
        warmed = tuple(sorted({*candidate.warmed, *left}))
        return replace(candidate, warmed=warmed, warm_up=None)
    if not left or (probe is not None and probe.phase is ProbePhase.FAILED):
        return replace(candidate, warm_up=None)
    return candidate


def _begun(situation: Situation, candidate: Candidate) -> Candidate:
    """Begin a warm-up of the Ready pods that are cold, unless one runs."""
    cold = tuple(pod for pod in _ready(situation) if pod not in candidate.warmed)
    if candidate.warm_up is not None or not cold:
        return candidate
    serial = candidate.warm_ups + 1
    return replace(candidate, warm_up=WarmUp(serial, cold), warm_ups=serial)
