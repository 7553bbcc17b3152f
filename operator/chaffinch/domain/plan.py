"""What is frozen when an attempt starts: objectives, strategy and baseline.

A user may edit any of these while an attempt runs; the attempt goes on with what it began with, and
the edit takes effect in the next one (condition ``SpecApplied``).
"""

from __future__ import annotations

from dataclasses import dataclass

from chaffinch.api.v1alpha1.names import baseline_object_name
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec, Objective, OnFailure
from chaffinch.api.v1alpha1.strategy import ResolvedStep, Strategy, strategy_of


@dataclass(frozen=True, slots=True)
class FrozenBaseline:
    """The baseline that an attempt is held to.

    Attributes:
        name: The object's name.
        uid: Its uid at the start of the attempt; empty if it did not exist then.
        digest: Its digest at the start of the attempt; empty if it did not exist then.
    """

    name: str
    uid: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class AttemptPlan:
    """What an attempt is held to, from its start to its end.

    Attributes:
        objectives: What the candidate is held to.
        strategy: The steps that it goes through.
        baseline: The frozen measurement that it is compared with, if one is named.
        on_failure: What becomes of it when it misses an objective.
    """

    objectives: tuple[Objective, ...]
    strategy: Strategy
    baseline: FrozenBaseline | None
    on_failure: OnFailure = OnFailure.ROLLBACK

    @property
    def steps(self) -> tuple[ResolvedStep, ...]:
        """The steps, in order."""
        return self.strategy.steps


def baseline_name_of(spec: InferenceRolloutSpec) -> str | None:
    """Return the name of the InferenceBaseline that a spec names, if it names one."""
    reference = spec.baseline
    return None if reference is None else baseline_object_name(reference.name, reference.version)


def plan_of(spec: InferenceRolloutSpec, *, uid: str = "", digest: str = "") -> AttemptPlan:
    """Freeze a spec for an attempt.

    Args:
        spec: The rollout's spec as it is now.
        uid: The baseline's uid, if it exists.
        digest: The baseline's digest, if it exists.
    """
    name = baseline_name_of(spec)
    baseline = None if name is None else FrozenBaseline(name, uid, digest)
    return AttemptPlan(spec.objectives, strategy_of(spec), baseline, spec.on_failure or OnFailure.ROLLBACK)
