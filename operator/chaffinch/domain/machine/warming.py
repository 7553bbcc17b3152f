"""Keeps account of which pods of the candidate are warm.

A pod gets traffic only after a warm-up has reached it, be it one of the first or one that was added, or
came back, at a later step. A container that restarted is cold again. Pods that become Ready one shortly
after the other are warmed together. Without a warm-up step, Ready is warm. A warm-up that failed stays the
candidate's warm-up until the next one begins, so that it can be told what is wrong; after some failures in a
row there is no next one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.capacity import candidate_pods
from chaffinch.domain.machine.repeating import again_at, problem_of, told
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.types import Next
from chaffinch.domain.names import warm_up_name
from chaffinch.domain.observation import Pod, ProbeSeen
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


def warm_up_problem(situation: Situation) -> str | None:
    """Say that the last warm-up failed, why, and when the next one is; None if it did not."""
    warm_up = situation.candidate.warm_up
    probe = _probe(situation, situation.candidate)
    problem = problem_of(probe, measures=False)
    if warm_up is None or probe is None or problem is None:
        return None
    runs = warm_up.failures + 1
    return told(probe, problem, runs, again_at(probe, runs, situation.timing))


def the_warm_up_has_failed(situation: Situation) -> Next | None:
    """No pod gets traffic that is not warm: its pods stay, and the progress deadline goes on."""
    problem = warm_up_problem(situation)
    if problem is None:
        return None
    return situation.held(situation.state, Reason.PROBE_FAILED, problem, situation.candidate.deadline)


def _present(situation: Situation) -> set[WarmPod]:
    return {
        WarmPod(pod.name, pod.restarts)
        for pod in situation.children.pods
        if not pod.terminating and pod.failed is None
    }


def _ready(situation: Situation) -> tuple[WarmPod, ...]:
    return tuple(sorted(WarmPod(pod.name, pod.restarts) for pod in situation.children.pods if pod.serves))


def _probe(situation: Situation, candidate: Candidate) -> ProbeSeen | None:
    if candidate.warm_up is None:
        return None
    rollout, serial = situation.seen.rollout.name, candidate.warm_up.serial
    return situation.seen.probe(warm_up_name(rollout, candidate.revision, candidate.attempt, serial))


def _without_cold_pods(situation: Situation, candidate: Candidate) -> Candidate:
    present = _present(situation)
    return replace(candidate, warmed=tuple(pod for pod in candidate.warmed if pod in present))


def _ended(situation: Situation, candidate: Candidate) -> Candidate:
    """Take the result of the warm-up that runs, or give it up when it waits for pods that are gone."""
    warm_up, probe = candidate.warm_up, _probe(situation, candidate)
    if warm_up is None:
        return candidate
    present = _present(situation)
    left = tuple(pod for pod in warm_up.pods if pod in present)
    phase = ProbePhase.PENDING if probe is None else probe.phase
    if phase is ProbePhase.SUCCEEDED:
        warmed = tuple(sorted({*candidate.warmed, *left}))
        return replace(candidate, warmed=warmed, warm_up=None)
    if not left or (left != warm_up.pods and phase is not ProbePhase.RUNNING):
        return replace(candidate, warm_up=None)
    return candidate


def _begun(situation: Situation, candidate: Candidate) -> Candidate:
    """Begin a warm-up of the Ready pods that are cold, unless one runs or has to be waited with."""
    cold = tuple(pod for pod in _ready(situation) if pod not in candidate.warmed)
    failures = _failures(situation, candidate)
    if failures is None or not cold or _waits_for_others(situation, cold):
        return candidate
    serial = candidate.warm_ups + 1
    return replace(candidate, warm_up=WarmUp(serial, cold, failures), warm_ups=serial)


def _waits_for_others(situation: Situation, cold: tuple[WarmPod, ...]) -> bool:
    """Say whether others will be Ready in a moment: they would have to wait for the end of this warm-up.

    A pod that began later is given as long as the slowest of the cold ones took, and a moment. One that has
    no node yet is not waited for, and nobody is where the candidate has traffic and no pod to take it.
    """
    candidate, now = situation.candidate, situation.now
    pods = [pod for pod in situation.children.pods if not pod.terminating and pod.failed is None]
    names = {pod.name for pod in cold}
    took = [
        pod.ready_since - _began(pod) for pod in pods if pod.name in names and pod.ready_since is not None
    ]
    if len(took) < len(cold) or (candidate.weight and not situation.serving):
        return False
    late = [pod for pod in pods if not pod.ready and not pod.unschedulable]
    if not late and len(pods) >= candidate_pods(situation.spec, situation.state, situation.seen):
        return False
    last = min(now, max(_began(pod) for pod in late or pods))
    return now < last + max(took) + timedelta(seconds=situation.timing.moment)


def _began(pod: Pod) -> datetime:
    return pod.started or pod.created


def _failures(situation: Situation, candidate: Candidate) -> int | None:
    """Return how many warm-ups in a row failed before one that may begin now; None if none may."""
    last, probe = candidate.warm_up, _probe(situation, candidate)
    if last is None:
        return 0
    if probe is None or problem_of(probe, measures=False) is None:
        return None
    again = again_at(probe, last.failures + 1, situation.timing)
    return last.failures + 1 if again is not None and situation.now >= again else None
