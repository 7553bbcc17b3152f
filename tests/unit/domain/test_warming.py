"""Which pods count as warm, and what becomes of a warm-up whose pods are gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.warming import with_warm_pods
from chaffinch.domain.names import warm_up_name
from chaffinch.domain.observation import Pod, ProbeSeen, RevisionSeen
from chaffinch.domain.state import Candidate, WarmPod, WarmUp
from chaffinch.domain.timing import Timing
from unit.domain.states import CANDIDATE, NEW, NOW, PROMOTING, SEEN, SPEC, STEPPING

A, B = Pod("a", "uid-a", NOW, ready=True), Pod("b", "uid-b", NOW, ready=True)
WARM_A, WARM_B = WarmPod("a", 0), WarmPod("b", 0)


def after_a_pass(candidate: Candidate, *pods: Pod, phase: ProbePhase | None = None) -> Candidate:
    name = warm_up_name(SEEN.rollout.name, NEW, candidate.attempt, 1)
    probes = () if phase is None else (ProbeSeen(name, "uid", phase),)
    seen = replace(SEEN, revisions=(RevisionSeen(NEW, pods=pods),), probes=probes)
    state = replace(STEPPING, candidate=candidate)
    return with_warm_pods(Situation(SPEC, NEW, state, seen, None, NOW, Timing())).candidate


@pytest.mark.parametrize(
    "pod",
    [replace(A, failed="Evicted", ready=False), replace(A, terminating=True), replace(A, restarts=1)],
    ids=["evicted", "terminating", "restarted"],
)
def test_a_pod_that_was_warm_is_forgotten_once_its_container_is_gone(pod: Pod) -> None:
    warm = replace(CANDIDATE, warmed=(WARM_A, WARM_B))
    assert after_a_pass(warm, pod, B).warmed == (WARM_B,)


@pytest.mark.parametrize(
    ("phase", "goes_on"),
    [(None, False), (ProbePhase.PENDING, False), (ProbePhase.RUNNING, True), (ProbePhase.FAILED, False)],
)
def test_a_warm_up_of_a_pod_that_is_gone_is_given_up_unless_load_runs(
    phase: ProbePhase | None, *, goes_on: bool
) -> None:
    warming = replace(CANDIDATE, warmed=(), warm_up=WarmUp(1, (WARM_A, WARM_B), 1), warm_ups=1)
    after = after_a_pass(warming, B, replace(A, failed="Evicted"), phase=phase)
    assert after.warm_up == (warming.warm_up if goes_on else WarmUp(2, (WARM_B,)))


def since(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


EARLY = replace(A, created=since(69), ready_since=since(9))
"""It took a minute to be Ready."""
LATE = replace(B, created=since(65), ready=False)
MUCH_LATER = replace(LATE, created=since(30))


@pytest.mark.parametrize(
    ("early", "pods", "waits"),
    [
        (EARLY, (LATE,), True),
        (EARLY, (replace(LATE, ready=True),), False),
        (EARLY, (MUCH_LATER,), True),
        (EARLY, (replace(LATE, created=since(70)),), False),
        (EARLY, (replace(LATE, unschedulable=True),), False),
        (EARLY, (replace(LATE, failed="Evicted"),), True),
        (EARLY, (), True),
        (replace(EARLY, created=since(70), ready_since=since(10)), (), False),
        (replace(EARLY, started=since(12), ready_since=since(1)), (LATE,), False),
        (replace(EARLY, ready_since=None), (LATE,), False),
        (replace(EARLY, ready_since=since(-3600)), (LATE,), True),
    ],
    ids=[
        "the other is to be Ready soon",
        "both are Ready",
        "the other began much later",
        "the other is slower",
        "the other has no node",
        "the other has failed and is made anew",
        "the other has not been made yet",
        "the other has not been made for a while",
        "it was started anew, and was quick",
        "nobody says since when it is Ready",
        "a clock is ahead",
    ],
)
def test_a_warm_up_waits_for_pods_that_are_a_moment_later(
    early: Pod, pods: tuple[Pod, ...], *, waits: bool
) -> None:
    children = RevisionSeen(NEW, desired_replicas=2, pods=(early, *pods))
    seen = replace(SEEN, revisions=(children,), probes=())
    state = replace(STEPPING, candidate=replace(CANDIDATE, warmed=(), warm_up=None, weight=0))
    spec = SPEC.model_copy(update={"replicas": 2})
    state = replace(state, stage=RolloutStage.PROMOTING)
    found = with_warm_pods(Situation(spec, NEW, state, seen, None, NOW, Timing())).candidate
    assert (found.warm_up is None) is waits


def test_a_warm_up_waits_for_nobody_where_users_wait_for_it() -> None:
    children = RevisionSeen(NEW, desired_replicas=2, pods=(EARLY, LATE))
    seen = replace(SEEN, revisions=(children,), probes=())
    state = replace(PROMOTING, candidate=replace(PROMOTING.candidate or CANDIDATE, warmed=(), weight=10_000))
    assert with_warm_pods(Situation(SPEC, NEW, state, seen, None, NOW, Timing())).candidate.warm_up
