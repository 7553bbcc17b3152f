"""Derives the route that a state asks for, and says whether the routers have it in force."""

from __future__ import annotations

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain.edges import edges_of
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.observation import Acknowledgement, Observation
from chaffinch.domain.route import RouteArm, RouteDecision, RouteIntent, RouteOrder, StoredRoute
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
    """Return the route with the sequence that it has, or with a new one if it has to be written.

    That is so if its content is new, or if an agent has a newer route than the stored one: it refuses
    what is stored (a ConfigMap that was restored from a backup, say) and would for ever.
    """
    intent, stored, epoch = route_intent(spec, state, seen), seen.router.route, highest_epoch(seen)
    if stored is not None and stored.intent == intent and not _is_refused(stored, seen):
        return RouteOrder(intent, stored.sequence, stored.resource_version, changed=False, epoch=epoch)
    version = stored.resource_version if stored else seen.router.resource_version
    sequence = highest_sequence(state, seen) + 1
    return RouteOrder(intent, sequence, version, changed=True, epoch=epoch)


def highest_sequence(state: RolloutState, seen: Observation) -> int:
    """Return the highest route sequence that anyone knows of.

    Agents refuse a lower one, so a route that is made anew must go on from here.
    """
    known = [state.sequence]
    if seen.router.route is not None:
        known.append(seen.router.route.sequence)
    known += [given.sequence for given in _acknowledgements(seen)]
    return max(known)


def highest_epoch(seen: Observation) -> int:
    """Return the highest epoch of a route that anyone knows of; agents refuse a lower one."""
    known = [given.epoch for given in _acknowledgements(seen)]
    if seen.router.route is not None:
        known.append(seen.router.route.epoch)
    return max(known, default=0)


def _acknowledgements(seen: Observation) -> list[Acknowledgement]:
    return [pod.acknowledgement for pod in seen.router.pods if pod.acknowledgement is not None]


def _is_refused(stored: StoredRoute, seen: Observation) -> bool:
    """Say whether a router has a newer route than the stored one."""
    return any(
        (given.epoch, given.sequence) > (stored.epoch, stored.sequence) for given in _acknowledgements(seen)
    )


def is_in_force(spec: InferenceRolloutSpec, state: RolloutState, seen: Observation) -> bool:
    """Say whether every Ready router splits requests as the state asks, by the very route that is stored.

    An arm that a router has dropped, because it sees no Ready endpoint of it, is not in force though
    the route is acknowledged. With no Ready router nothing is in force: nobody routes by it.
    """
    stored = seen.router.route
    if stored is None or stored.intent != route_intent(spec, state, seen):
        return False
    routers = seen.router.ready_pods
    return bool(routers) and all(_follows(pod.acknowledgement, stored) for pod in routers)


def _follows(given: Acknowledgement | None, stored: StoredRoute) -> bool:
    if given is None or (given.epoch, given.sequence) != (stored.epoch, stored.sequence):
        return False
    asked = {arm.revision: arm.weight for arm in stored.intent.arms if arm.weight}
    return asked == {revision: weight for revision, weight in given.weights.items() if weight}


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
