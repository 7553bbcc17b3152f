"""Derives everything that should exist from a state: the route, the objects, and what may go.

The order of writes matters and is part of the result: see :mod:`chaffinch.domain.machine`. A revision that
is no longer needed is scaled down only after the stored route gives it nothing and its last answers have
ended, and it is kept at 0 pods for a while as history before its objects are deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.common import API_VERSION
from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.strategy import ProbeStep
from chaffinch.domain.capacity import candidate_pods, stable_pods
from chaffinch.domain.draining import left_over, live_revisions, may_stop
from chaffinch.domain.intent import admitted_pods, route_order
from chaffinch.domain.manifests import engine
from chaffinch.domain.manifests.common import Manifest
from chaffinch.domain.manifests.load_probe import step_probe, warm_up_probe
from chaffinch.domain.names import is_warm_up_name
from chaffinch.domain.observation import FrozenRevision, Observation
from chaffinch.domain.pod_storms import capped
from chaffinch.domain.revision import revision_of
from chaffinch.domain.route import RouteOrder
from chaffinch.domain.state import Candidate, RolloutState
from chaffinch.domain.timing import Timing

KEPT_REVISIONS = 3
"""How many revisions that are neither stable nor candidate are kept, at 0 pods."""


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """An object of the rollout's namespace."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Desired:
    """What should be, in the order in which it is written.

    Attributes:
        foundations: ControllerRevisions (to be created only, never changed), Services and disruption
            budgets. The router's own objects come after these and before the workloads.
        workloads: Deployments at the size that they should have, then LoadProbes (to be created only).
        route: The route.
        scale_downs: Deployments to be scaled to 0, after the route is written.
        deletions: Warm-ups of an attempt that is over, and objects of revisions that are no longer
            kept, or that cannot be, if they exist.
    """

    foundations: tuple[Manifest, ...]
    workloads: tuple[Manifest, ...]
    route: RouteOrder
    scale_downs: tuple[Manifest, ...] = ()
    deletions: tuple[ObjectReference, ...] = ()


def desired(
    spec: InferenceRolloutSpec,
    state: RolloutState,
    seen: Observation,
    now: datetime,
    *,
    timing: Timing | None = None,
) -> Desired:
    """Return what should be.

    Args:
        spec: The rollout's spec, parsed.
        state: The state that the pass has decided on.
        seen: What was observed in this pass.
        now: The time, with a time zone.
        timing: Deadlines and intervals; the usual ones if None.
    """
    live = {
        revision: frozen
        for revision in live_revisions(state)
        if (frozen := _frozen(spec, state, seen, revision)) is not None
    }
    timing = timing or Timing()
    sizes = capped(_sizes(spec, state, seen), state, seen, now, timing)
    deployments = [engine.deployment(seen.rollout, rev, frozen, sizes[rev]) for rev, frozen in live.items()]
    return Desired(
        foundations=tuple(m for rev, frozen in live.items() for m in _foundations(seen, rev, frozen)),
        workloads=(*deployments, *_load_probes(state, seen)),
        route=route_order(spec, state, seen),
        scale_downs=scale_downs(state, seen, now, timing),
        deletions=deletions(state, seen, now, timing),
    )


def _frozen(
    spec: InferenceRolloutSpec, state: RolloutState, seen: Observation, revision: str
) -> FrozenRevision | None:
    """Return a revision as it was frozen; only one that the spec stands for now can be frozen anew."""
    frozen = seen.revision(revision).frozen
    if frozen is not None or revision_of(spec) != revision:
        return frozen
    return engine.frozen_revision(seen.rollout.name, revision, spec, state.attempts)


def _foundations(seen: Observation, revision: str, frozen: FrozenRevision) -> tuple[Manifest, ...]:
    made = (
        engine.service(seen.rollout, revision),
        engine.disruption_budget(seen.rollout, revision),
    )
    if seen.revision(revision).frozen is not None:
        return made
    return (engine.controller_revision(seen.rollout, revision, frozen), *made)


def _sizes(spec: InferenceRolloutSpec, state: RolloutState, seen: Observation) -> dict[str, int]:
    """Return how many pods each revision is to have."""
    sizes: dict[str, int] = {}
    if state.stable is not None:
        sizes[state.stable.revision] = stable_pods(spec, state, seen)
    if state.candidate is not None:
        sizes[state.candidate.revision] = candidate_pods(spec, state, seen)
    return sizes


def _load_probes(state: RolloutState, seen: Observation) -> tuple[Manifest, ...]:
    candidate = state.candidate
    if candidate is None or state.stage is RolloutStage.ROLLING_BACK:
        return ()
    probes = []
    warm_up_step = candidate.plan.strategy.warm_up
    if candidate.warm_up is not None and warm_up_step is not None:
        probes.append(warm_up_probe(seen.rollout, candidate, warm_up_step, candidate.warm_up))
    probes += _step_probe(candidate, seen)
    return tuple(probe for probe in probes if seen.probe(probe["metadata"]["name"]) is None)


def _step_probe(candidate: Candidate, seen: Observation) -> list[Manifest]:
    at = candidate.step
    if at is None or at.acknowledged_at is None or at.passed_at is not None:
        return []
    step = candidate.plan.steps[at.index]
    if not isinstance(step, ProbeStep):
        return []
    return [step_probe(seen.rollout, candidate, step, at, admitted_pods(candidate, seen))]


def scale_downs(
    state: RolloutState, seen: Observation, now: datetime, timing: Timing
) -> tuple[Manifest, ...]:
    """Return the Deployments of revisions that are out, at 0 pods, once their last answers have ended."""
    return tuple(
        engine.deployment(seen.rollout, each.revision, each.frozen, 0)
        for each in left_over(state, seen)
        if each.frozen is not None and may_stop(each.revision, state, seen, now, timing)
    )


def stable_growing(
    state: RolloutState, seen: Observation, replicas: int | None, now: datetime, timing: Timing
) -> tuple[Manifest, ...]:
    """Return stable's Deployment at its next size, if it has not all pods yet that were asked for.

    Args:
        state: What is remembered.
        seen: What was observed.
        replicas: How many pods were asked for last; None if that is unknown.
        now: The time.
        timing: When a pod counts as taken.
    """
    if state.stable is None or replicas is None:
        return ()
    stable = seen.revision(state.stable.revision)
    if stable.frozen is None or (stable.desired_replicas or 0) >= replicas:
        return ()
    size = capped({stable.revision: replicas}, state, seen, now, timing)[stable.revision]
    return (engine.deployment(seen.rollout, stable.revision, stable.frozen, size),)


def deletions(
    state: RolloutState, seen: Observation, now: datetime, timing: Timing
) -> tuple[ObjectReference, ...]:
    """Return what goes: warm-ups of no attempt, revisions that cannot be scaled down, and old history."""
    warm_ups = [
        probe.name for probe in seen.probes if state.candidate is None and is_warm_up_name(probe.name)
    ]
    return (
        *(ObjectReference(API_VERSION, "LoadProbe", name) for name in warm_ups),
        *_deletions_of_lost(state, seen, now, timing),
        *_deletions_of_history(state, seen),
    )


def _deletions_of_lost(
    state: RolloutState, seen: Observation, now: datetime, timing: Timing
) -> tuple[ObjectReference, ...]:
    """Return the objects of revisions that are out and whose frozen form is gone, or is none.

    Nothing tells any more what their Deployments were made from, so that they can neither be scaled down as
    others are nor ever be deployed again: as history they are worth nothing, and their pods would stay.
    """
    return tuple(
        reference
        for each in left_over(state, seen)
        if each.frozen is None and may_stop(each.revision, state, seen, now, timing)
        for reference in _objects_of(each.revision, seen)
    )


def _deletions_of_history(state: RolloutState, seen: Observation) -> tuple[ObjectReference, ...]:
    live = live_revisions(state)
    out = [each for each in seen.revisions if each.revision not in live]
    at_rest = [each for each in out if not each.desired_replicas and not each.pods]
    newest_first = sorted(at_rest, key=lambda each: -(each.frozen.number if each.frozen else 0))
    return tuple(
        reference for each in newest_first[KEPT_REVISIONS:] for reference in _objects_of(each.revision, seen)
    )


def _objects_of(revision: str, seen: Observation) -> tuple[ObjectReference, ...]:
    name = revision_name(seen.rollout.name, revision)
    return tuple(ObjectReference(api_version, kind, name) for api_version, kind in _KINDS)


_KINDS = (
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "Service"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ControllerRevision"),
)
"""What a revision consists of, in the order of deletion: what it was frozen as goes last."""
