"""Resolves a rollout's strategy: absent fields get their meaning here, never in the stored spec.

A spec keeps what its user wrote, so that GitOps tools see no difference; what is decided from is
the resolved strategy: every step with its weight, times in seconds and required evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaffinch.api.v1alpha1.profile import WarmUp
from chaffinch.api.v1alpha1.quantities import duration_seconds
from chaffinch.api.v1alpha1.rollout import (
    Capacity,
    InferenceRolloutSpec,
    Require,
    Step,
)

FULL_WEIGHT = 10_000
"""All traffic, in the unit that weights are counted in."""
DEFAULT_PROGRESS_DEADLINE_SECONDS = 15 * 60
DEFAULT_STARTUP_SECONDS = 600
DEFAULT_WARM_UP = WarmUp(requests=100, concurrency=4)
DEFAULT_PROFILE = "standard/v1"
PROVEN_FROM_WEIGHT = FULL_WEIGHT // 2
_SHORTEST_MAX_WAIT_SECONDS = 30 * 60


@dataclass(frozen=True, slots=True)
class WarmUpStep:
    """Requests that count for nothing.

    Attributes:
        name: Name of the step.
        requests: How many requests each pod gets.
        concurrency: How many of them each pod gets at once.
    """

    name: str
    requests: int
    concurrency: int


@dataclass(frozen=True, slots=True)
class ProbeStep:
    """A fixed load at weight 0.

    Attributes:
        name: Name of the step.
        profile: Reference of the load profile.
    """

    name: str
    profile: str


@dataclass(frozen=True, slots=True)
class CanaryStep:
    """A share of the users' traffic.

    Attributes:
        name: Name of the step.
        weight: The canary's share in 1/10,000.
        for_seconds: How long the step takes at least, from the acknowledgement of its weight.
        require: The evidence that is needed to go on.
        max_wait_seconds: How long evidence is waited for before a person is asked.
    """

    name: str
    weight: int
    for_seconds: int
    require: Require
    max_wait_seconds: int


@dataclass(frozen=True, slots=True)
class BakeStep:
    """All traffic on the canary, the old revision kept ready.

    Attributes:
        name: Name of the step.
        for_seconds: How long the step takes.
    """

    name: str
    for_seconds: int


@dataclass(frozen=True, slots=True)
class ApprovalStep:
    """A wait for a person.

    Attributes:
        name: Name of the step.
        weight: The share in 1/10,000 that the canary has from the steps before.
    """

    name: str
    weight: int


ResolvedStep = WarmUpStep | ProbeStep | CanaryStep | ApprovalStep | BakeStep


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy in which nothing is left to be understood.

    Attributes:
        capacity: Where a canary's pods come from.
        progress_deadline_seconds: How long pods may take to become ready and warm.
        steps: The steps in order; a warm-up is the first, a bake the last, where there is one.
    """

    capacity: Capacity
    progress_deadline_seconds: int
    steps: tuple[ResolvedStep, ...]

    @property
    def warm_up(self) -> WarmUpStep | None:
        """The warm-up that every new pod goes through, or None."""
        first = self.steps[0]
        return first if isinstance(first, WarmUpStep) else None


def strategy_of(spec: InferenceRolloutSpec) -> Strategy:
    """Return the strategy that a spec stands for, with every default resolved."""
    written = spec.strategy
    steps = _resolved_steps(written.steps) if written and written.steps else None
    deadline = written.progress_deadline if written else None
    return Strategy(
        capacity=(written.capacity if written else None) or Capacity.SURGE,
        progress_deadline_seconds=duration_seconds(deadline)
        if deadline
        else DEFAULT_PROGRESS_DEADLINE_SECONDS,
        steps=steps or default_steps(spec.replicas, with_baseline=spec.baseline is not None),
    )


def default_steps(replicas: int, *, with_baseline: bool) -> tuple[ResolvedStep, ...]:
    """Return the default ladder: warm-up, probe, 5 %, parity with one pod, 50 %, bake.

    The probe is there only when a baseline is named. Parity with one of N pods is a weight of
    1/(1+N); where that does not lie between 5 % and 50 %, the rung is left out.
    """
    one_pod = round(FULL_WEIGHT / (1 + replicas))
    five, half = FULL_WEIGHT // 20, FULL_WEIGHT // 2
    rungs: list[ResolvedStep] = [
        WarmUpStep("warm-up", DEFAULT_WARM_UP.requests, DEFAULT_WARM_UP.concurrency),
    ]
    if with_baseline:
        rungs.append(ProbeStep("probe", DEFAULT_PROFILE))
    rungs.append(_canary("canary-5", five, for_seconds=5 * 60))
    if five < one_pod < half:
        rungs.append(_canary("canary-one-pod", one_pod, for_seconds=10 * 60))
    rungs.append(_canary("canary-50", half, for_seconds=10 * 60))
    rungs.append(BakeStep("bake", 30 * 60))
    return tuple(rungs)


def startup_seconds(spec: InferenceRolloutSpec) -> int:
    """Return how long an engine may take to become ready before it is restarted."""
    written = spec.pod.startup_seconds if spec.pod else None
    return written or DEFAULT_STARTUP_SECONDS


def _canary(
    name: str,
    weight: int,
    *,
    for_seconds: int,
    require: Require | None = None,
    max_wait_seconds: int | None = None,
) -> CanaryStep:
    return CanaryStep(
        name=name,
        weight=weight,
        for_seconds=for_seconds,
        require=require or (Require.PROVEN if weight >= PROVEN_FROM_WEIGHT else Require.NO_HARM),
        max_wait_seconds=max_wait_seconds or max(_SHORTEST_MAX_WAIT_SECONDS, 6 * for_seconds),
    )


def _resolved_steps(written: tuple[Step, ...]) -> tuple[ResolvedStep, ...]:
    steps: list[ResolvedStep] = []
    weight = 0
    for each in written:
        step = _resolved(each, weight)
        weight = step.weight if isinstance(step, CanaryStep) else weight
        steps.append(step)
    return tuple(steps)


def _resolved(step: Step, weight: int) -> ResolvedStep:
    if step.warm_up is not None:
        return WarmUpStep(step.name, step.warm_up.requests, step.warm_up.concurrency)
    if step.probe is not None:
        return ProbeStep(step.name, step.probe.profile)
    if step.canary is not None:
        return _canary(
            step.name,
            step.canary.weight * FULL_WEIGHT // 100,
            for_seconds=duration_seconds(step.canary.for_),
            require=step.canary.require,
            max_wait_seconds=duration_seconds(step.canary.max_wait) if step.canary.max_wait else None,
        )
    if step.approval is not None:
        return ApprovalStep(step.name, weight)
    if step.bake is not None:
        return BakeStep(step.name, duration_seconds(step.bake.for_))
    raise ValueError(f"step {step.name!r} has no action: parse the spec before resolving it")
