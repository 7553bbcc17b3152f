from __future__ import annotations

from dataclasses import replace

import pytest

from chaffinch.domain.desired import Desired, ObjectReference, desired
from chaffinch.domain.manifests.engine import frozen_revision
from chaffinch.domain.observation import Observation, RevisionSeen, RouterSeen
from chaffinch.domain.route import RouteArm, RouteIntent, StoredRoute
from chaffinch.domain.state import RolloutState, StableRevision, WarmPod, WarmUp
from unit.domain.states import CANDIDATE, DEPLOYING, NEW, NOW, OLD, SEEN, SPEC

IDLE = RolloutState(stable=StableRevision(NEW, NOW), attempts=2)


def kept(revision: str, number: int, replicas: int = 0) -> RevisionSeen:
    return RevisionSeen(revision, frozen_revision("chat", revision, SPEC, number), replicas)


def observed(*revisions: RevisionSeen, old_weight: int = 0) -> Observation:
    arms = (RouteArm(NEW, 10_000 - old_weight), RouteArm(OLD, old_weight))
    route = StoredRoute(1, 7, "v7", RouteIntent(2, NEW, arms, None))
    return replace(SEEN, revisions=revisions, router=RouterSeen(route=route))


def sizes(manifests: tuple[dict[str, object], ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for manifest in manifests:
        if manifest["kind"] == "Deployment":
            metadata, spec = manifest["metadata"], manifest["spec"]
            assert isinstance(metadata, dict)
            assert isinstance(spec, dict)
            found[metadata["name"]] = spec["replicas"]
    return found


def kinds(manifests: tuple[dict[str, object], ...]) -> list[object]:
    return [manifest["kind"] for manifest in manifests]


@pytest.mark.parametrize(("weight", "want"), [(0, {f"chat-{OLD}": 0}), (1, {})])
def test_a_revision_goes_only_when_the_stored_route_gives_it_nothing(
    weight: int, want: dict[str, int]
) -> None:
    seen = observed(kept(NEW, 2, 4), kept(OLD, 1, 4), old_weight=weight)
    assert sizes(desired(SPEC, IDLE, seen, NOW).scale_downs) == want


def test_without_a_stored_route_nothing_is_made_smaller() -> None:
    seen = replace(observed(kept(NEW, 2, 4), kept(OLD, 1, 4)), router=RouterSeen())
    assert desired(SPEC, IDLE, seen, NOW).scale_downs == ()


def test_the_oldest_of_more_than_three_past_revisions_is_deleted_its_frozen_form_last() -> None:
    past = [kept(f"{number:08x}", number) for number in (1, 2, 3, 4)]
    wanted = desired(SPEC, IDLE, observed(kept(NEW, 5, 4), *past), NOW)
    assert wanted.deletions == everything_of("00000001")


def everything_of(revision: str) -> tuple[ObjectReference, ...]:
    return (
        ObjectReference("policy/v1", "PodDisruptionBudget", f"chat-{revision}"),
        ObjectReference("v1", "Service", f"chat-{revision}"),
        ObjectReference("apps/v1", "Deployment", f"chat-{revision}"),
        ObjectReference("apps/v1", "ControllerRevision", f"chat-{revision}"),
    )


@pytest.mark.parametrize(("weight", "want"), [(0, everything_of(OLD)), (1, ())])
def test_a_revision_that_is_out_goes_as_a_whole_if_nothing_tells_what_it_was_made_from(
    weight: int, want: tuple[ObjectReference, ...]
) -> None:
    wanted = desired(
        SPEC, IDLE, observed(kept(NEW, 2, 4), RevisionSeen(OLD, None, 4), old_weight=weight), NOW
    )
    assert (wanted.scale_downs, wanted.deletions) == ((), want)


def test_a_frozen_revision_is_never_written_again() -> None:
    first = desired(SPEC, IDLE, observed(), NOW)
    again = desired(SPEC, IDLE, observed(kept(NEW, 2, 4)), NOW)
    assert kinds(first.foundations) == ["ControllerRevision", "Service", "PodDisruptionBudget"]
    assert kinds(again.foundations) == ["Service", "PodDisruptionBudget"]


def test_a_revision_whose_frozen_form_is_lost_is_left_as_it_is_when_the_spec_is_another() -> None:
    state = replace(IDLE, stable=StableRevision(OLD, NOW))
    wanted: Desired = desired(SPEC, state, observed(RevisionSeen(OLD, None, 4)), NOW)
    assert (wanted.foundations, wanted.workloads, wanted.scale_downs) == ((), (), ())
    assert wanted.deletions == ()


def test_a_warm_up_is_made_once_for_its_pods() -> None:
    warming = replace(
        DEPLOYING, candidate=replace(CANDIDATE, warm_up=WarmUp(1, (WarmPod("c1", 0),)), warm_ups=1)
    )
    wanted = desired(SPEC, warming, observed(kept(OLD, 1, 4), kept(NEW, 2, 1)), NOW)
    probe = next(manifest for manifest in wanted.workloads if manifest["kind"] == "LoadProbe")
    assert probe["metadata"]["name"] == f"chat-{NEW}-a2-w1"
    assert probe["spec"] == {
        "target": {"rollout": "chat", "revision": NEW, "pods": ["c1"]},
        "attempt": 2,
        "warmUp": {"requests": 100, "concurrency": 4},
    }


def test_stable_keeps_its_size_while_an_attempt_runs_and_takes_the_specs_afterwards() -> None:
    smaller = SPEC.model_copy(update={"replicas": 2})
    attempt = desired(smaller, DEPLOYING, observed(kept(OLD, 1, 4), kept(NEW, 2, 1)), NOW)
    after = desired(smaller, IDLE, observed(kept(NEW, 2, 4)), NOW)
    assert sizes(attempt.workloads) == {f"chat-{OLD}": 4, f"chat-{NEW}": 1}
    assert sizes(after.workloads) == {f"chat-{NEW}": 2}
