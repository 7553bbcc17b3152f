"""How many pods each revision has, in capacity mode Surge.

A canary gets as many pods as its weight needs so that none of them carries more than a stable pod
does; stable stays at full size until the attempt is over. During an attempt sizes only grow:
a smaller ``replicas`` waits until it has ended.
"""

from __future__ import annotations

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT, ApprovalStep, BakeStep, CanaryStep, ResolvedStep
from chaffinch.domain.observation import Observation
from chaffinch.domain.state import Candidate, RolloutState


def canary_pods(weight: int, stable_pods: int) -> int:
    """Return how many canary pods carry a weight beside N stable pods.

    ``min(N, max(1, ceil(N * w / (1 - w))))``: the load per canary pod then never exceeds the load per
    stable pod; from one half of the traffic on it is N.

    Args:
        weight: Ten-thousandths of the traffic.
        stable_pods: N.
    """
    if weight >= FULL_WEIGHT // 2:
        return stable_pods
    needed = -(-stable_pods * weight // (FULL_WEIGHT - weight))
    return min(stable_pods, max(1, needed))


def pods_of_step(step: ResolvedStep, replicas: int) -> int:
    """Return how many canary pods one step needs beside ``replicas`` stable ones."""
    if isinstance(step, BakeStep):
        return replicas
    return canary_pods(step.weight, replicas) if isinstance(step, CanaryStep | ApprovalStep) else 1


def weight_of_step(step: ResolvedStep) -> int:
    """Return the canary's weight in a step, in ten-thousandths."""
    if isinstance(step, BakeStep):
        return FULL_WEIGHT
    return step.weight if isinstance(step, CanaryStep | ApprovalStep) else 0


def attempt_replicas(spec: InferenceRolloutSpec, state: RolloutState, seen: Observation) -> int:
    """Return N while an attempt runs: what the spec asks for, or what stable has already if that is more."""
    if state.stable is None:
        return spec.replicas
    return max(spec.replicas, seen.revision(state.stable.revision).desired_replicas or 0)


def stable_pods(spec: InferenceRolloutSpec, state: RolloutState, seen: Observation) -> int:
    """Return how many pods stable should have: in an attempt it does not shrink."""
    return spec.replicas if state.candidate is None else attempt_replicas(spec, state, seen)


def pods_up_to_step(candidate: Candidate, index: int, replicas: int) -> int:
    """Return how many canary pods the steps 0 to ``index`` need at most; past the last step, all."""
    steps = candidate.plan.steps
    if index >= len(steps):
        return replicas
    return max(pods_of_step(step, replicas) for step in steps[: index + 1])


def candidate_pods(spec: InferenceRolloutSpec, state: RolloutState, seen: Observation) -> int:
    """Return how many candidate pods there should be now."""
    candidate = state.candidate
    if candidate is None:
        return 0
    replicas = attempt_replicas(spec, state, seen)
    present = seen.revision(candidate.revision).desired_replicas or 0
    if state.stage is RolloutStage.ROLLING_BACK:
        return present
    if state.stage is RolloutStage.PROMOTING or state.stable is None:
        return replicas
    return max(present, pods_up_to_step(candidate, _step_in_preparation(candidate), replicas))


def _step_in_preparation(candidate: Candidate) -> int:
    step = candidate.step
    if step is None:
        return first_step(candidate)
    return step.index if step.passed_at is None else step.index + 1


def first_step(candidate: Candidate) -> int:
    """Return the index of the first step after the warm-up, which is part of Deploying."""
    return 0 if candidate.plan.strategy.warm_up is None else 1
