"""Which pods count as warm, and what becomes of a warm-up whose pods are gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.warming import with_warm_pods
from chaffinch.domain.names import warm_up_name
from chaffinch.domain.observation import Pod, ProbeSeen, RevisionSeen
from chaffinch.domain.state import Candidate, WarmPod, WarmUp
from chaffinch.domain.timing import Timing
from unit.domain.states import CANDIDATE, NEW, NOW, SEEN, SPEC, STEPPING

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


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("since", "pods", "waits"),
    [
        (after(-9), (), True),
        (after(-9), (replace(B, ready=False),), True),
        (after(-9), (B,), False),
        (after(-10), (), False),
        (after(9), (), True),
        (after(3600), (), False),
        (None, (), False),
    ],
    ids=[
        "the other is not there",
        "the other is not Ready",
        "both are Ready",
        "the other is slow",
        "a clock is ahead",
        "a clock is wrong",
        "nobody says since when it is Ready",
    ],
)
def test_a_warm_up_waits_a_moment_for_pods_that_begin_a_little_later(
    since: datetime | None, pods: tuple[Pod, ...], *, waits: bool
) -> None:
    children = RevisionSeen(NEW, desired_replicas=2, pods=(replace(A, ready_since=since), *pods))
    seen = replace(SEEN, revisions=(children,), probes=())
    state = replace(STEPPING, candidate=replace(CANDIDATE, warmed=(), warm_up=None))
    found = with_warm_pods(Situation(SPEC, NEW, state, seen, None, NOW, Timing())).candidate
    assert (found.warm_up is None) is waits
