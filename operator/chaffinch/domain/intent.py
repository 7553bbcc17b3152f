"""Derives the route that a state asks for, and says whether the routers have it in force."""

from __future__ import annotations

from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.status import RolloutStage
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain.edges import edges_of
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.observation import Observation
from chaffinch.domain.route import RouteArm, RouteDecision, RouteIntent, RouteOrder
from chaffinch.domain.state import Candidate, RolloutState


def route_intent(spec: InferenceRolloutSpec, state: RolloutState, seen: Observation) -> RouteIntent:
    """Return the content that the route shall have.

    Revisions that are neither stable nor candidate stay in it with weight 0 for as long as they have
    pods, so that answers under way are not cut off.
    """
    candidate = state.candidate
    objectives = candidate.plan.objectives if candidate else spec.objectives
    return RouteIntent(
        attempt=state.attempts,
        stable=state.stable.revision if state.stable else None,
        arms=_arms(state, seen),
        decision=_decision(candidate),
        ttft_edges=edges_of(objectives, LatencyMetric.TTFT),
        e2e_edges=edges_of(objectives, LatencyMetric.E2E),
    )


def route_order(spec: InferenceRolloutSpec, state: RolloutState, seen: Observation) -> RouteOrder:
    """Return the route with the sequence that it has, or with a new one if its content is new."""
    intent = route_intent(spec, state, seen)
    stored = seen.router.route
    if stored is not None and stored.intent == intent:
        return RouteOrder(intent, stored.sequence, stored.resource_version, changed=False)
    version = stored.resource_version if stored else seen.router.resource_version
    return RouteOrder(intent, highest_sequence(state, seen) + 1, version, changed=True)


def highest_sequence(state: RolloutState, seen: Observation) -> int:
    """Return the highest route sequence that anyone knows of.

    Agents refuse a lower one, so a route that is made anew must go on from here.
    """
    known = [state.sequence]
    if seen.router.route is not None:
        known.append(seen.router.route.sequence)
    known += [pod.acknowledgement.sequence for pod in seen.router.pods if pod.acknowledgement]
    return max(known)


def is_in_force(spec: InferenceRolloutSpec, state: RolloutState, seen: Observation) -> bool:
    """Say whether every Ready router has acknowledged the route that the state asks for.

    With no Ready router nothing is in force: nobody routes by it.
    """
    stored = seen.router.route
    if stored is None or stored.intent != route_intent(spec, state, seen):
        return False
    acknowledgements = [pod.acknowledgement for pod in seen.router.ready_pods]
    return bool(acknowledgements) and all(
        given is not None and (given.epoch, given.sequence) >= (stored.epoch, stored.sequence)
        for given in acknowledgements
    )


def _arms(state: RolloutState, seen: Observation) -> tuple[RouteArm, ...]:
    candidate, stable = state.candidate, state.stable
    arms = []
    if stable is not None:
        arms.append(RouteArm(stable.revision, FULL_WEIGHT - _weight(state)))
    if candidate is not None:
        arms.append(RouteArm(candidate.revision, _weight(state), admitted_pods(candidate, seen)))
    named = {arm.revision for arm in arms}
    leaving = sorted(each.revision for each in seen.revisions if each.pods and each.revision not in named)
    return (*arms, *(RouteArm(revision, 0, ()) for revision in leaving))


def _weight(state: RolloutState) -> int:
    if state.candidate is None or state.stage is RolloutStage.ROLLING_BACK:
        return 0
    return state.candidate.weight


def admitted_pods(candidate: Candidate, seen: Observation) -> tuple[str, ...]:
    """Return the names of the candidate's pods that may get traffic: the warm ones that still exist."""
    warm = {(pod.name, pod.restarts) for pod in candidate.warmed}
    pods = seen.revision(candidate.revision).pods
    return tuple(sorted(p.name for p in pods if (p.name, p.restarts) in warm and not p.terminating))


def _decision(candidate: Candidate | None) -> RouteDecision | None:
    decision = candidate.decision if candidate else None
    return RouteDecision(decision.kind, decision.cause, decision.at) if decision else None
