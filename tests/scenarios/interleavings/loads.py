"""The load probes of the model: warm-ups and measurements, made by the operator, that end as events say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from chaffinch.api.v1alpha1.probe import ProbePhase
from chaffinch.api.v1alpha1.strategy import ProbeStep
from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.domain.names import is_warm_up_name, step_probe_name
from chaffinch.domain.observation import ProbeSeen
from chaffinch.domain.state import RolloutState
from chaffinch.domain.verdict import Outcome
from scenarios.evidence import arm
from scenarios.world import ROLLOUT

UNUSABLE = NoEvidence(Problem.NO_DATA, "the generator did not keep up")
MEASURED = arm(2_000)


@dataclass(frozen=True, slots=True)
class ModelProbe:
    """One load probe.

    Attributes:
        name: Its name.
        attempt: The attempt that it belongs to.
        pods: The names of those that it loads.
        ended: When it ended; None: it runs.
        failed: Whether it ended without a result.
        outcome: What the judge says of what it has measured; None: that cannot be used.
    """

    name: str
    attempt: int
    pods: tuple[str, ...]
    ended: datetime | None = None
    failed: bool = False
    outcome: Outcome | None = None

    @property
    def measures(self) -> bool:
        """Whether it measures; a warm-up does not."""
        return not is_warm_up_name(self.name)

    def end(self, now: datetime, outcome: Outcome | None, *, failed: bool = False) -> ModelProbe:
        """Return it ended, if it runs."""
        return self if self.ended else replace(self, ended=now, outcome=outcome, failed=failed)

    def seen(self) -> ProbeSeen:
        """Return what the API server says of it."""
        if self.ended is None:
            return ProbeSeen(self.name, self.name, ProbePhase.RUNNING)
        if self.failed:
            return ProbeSeen(self.name, self.name, ProbePhase.FAILED, self.ended, None, "its worker was lost")
        usable = MEASURED if self.outcome is not None else UNUSABLE
        result = usable if self.measures else None
        return ProbeSeen(self.name, self.name, ProbePhase.SUCCEEDED, self.ended, result)


Probes = tuple[ModelProbe, ...]


def made(manifest: dict[str, Any]) -> ModelProbe:
    """Return the probe that a manifest asks for."""
    spec = manifest["spec"]
    return ModelProbe(manifest["metadata"]["name"], spec["attempt"], tuple(spec["target"]["pods"]))


def measurement(state: RolloutState, probes: Probes) -> ModelProbe | None:
    """Return the probe whose result the step of an attempt is judged by, once it has one."""
    candidate = state.candidate
    if candidate is None or candidate.step is None or candidate.step.acknowledged_at is None:
        return None
    at = candidate.step
    if not isinstance(candidate.plan.steps[at.index], ProbeStep):
        return None
    name = step_probe_name(ROLLOUT.name, candidate.revision, candidate.attempt, at.index, at.run)
    probe = next((each for each in probes if each.name == name), None)
    return probe if probe is not None and probe.ended and not probe.failed else None
