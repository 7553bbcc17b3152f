"""What conditions are derived from, and the questions that several of them ask."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chaffinch.api.v1alpha1.attempt_status import Outcome, RolloutStage
from chaffinch.api.v1alpha1.command_line import command_line
from chaffinch.api.v1alpha1.common import ConditionStatus
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT, ApprovalStep
from chaffinch.domain.observation import Observation
from chaffinch.domain.revision import revision_of
from chaffinch.domain.router_edits import route_object
from chaffinch.domain.state import RolloutState
from chaffinch.domain.verdict import Judgement
from chaffinch.domain.wording import ready_pods, where_traffic_is


@dataclass(frozen=True, slots=True)
class Finding:
    """What a condition says: status, reason and message."""

    status: ConditionStatus
    reason: str
    message: str


def true(reason: str, message: str) -> Finding:
    """Return a condition that holds."""
    return Finding(ConditionStatus.TRUE, reason, message)


def false(reason: str, message: str) -> Finding:
    """Return a condition that does not hold."""
    return Finding(ConditionStatus.FALSE, reason, message)


def unknown(reason: str, message: str) -> Finding:
    """Return a condition of which nobody can say whether it holds."""
    return Finding(ConditionStatus.UNKNOWN, reason, message)


@dataclass(frozen=True, slots=True)
class View:
    """Everything that conditions are derived from.

    Attributes:
        spec: The rollout's spec.
        state: What the pass has decided.
        seen: What it has observed.
        judgement: What the judge said in it, if there was something to judge.
        now: The time.
        acts: Whether the pass may write the route.
    """

    spec: InferenceRolloutSpec
    state: RolloutState
    seen: Observation
    judgement: Judgement | None
    now: datetime
    acts: bool = True

    @property
    def revision(self) -> str:
        """The revision that the spec stands for."""
        return revision_of(self.spec)

    @property
    def traffic(self) -> str:
        """Where traffic is, in words."""
        return where_traffic_is(self.state, self.seen)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is tried."""
        return self.state.candidate is None

    @property
    def spec_serves(self) -> bool:
        """Whether the revision that the spec stands for is stable and nothing else is tried."""
        stable = self.state.stable
        return self.is_idle and stable is not None and stable.revision == self.revision

    @property
    def is_refused(self) -> bool:
        """Whether the revision that the spec stands for is not tried (again) by itself."""
        last = self.state.last_attempt
        if not self.is_idle or self.spec_serves:
            return False
        rolled_back = last is not None and last.outcome is Outcome.ROLLED_BACK
        return self.revision in self.state.failed or (
            last is not None and rolled_back and last.revision == self.revision
        )

    @property
    def awaits_approval(self) -> str | None:
        """The approval step that a person is asked to pass, if one is."""
        candidate = self.state.candidate
        if self.state.stage is not RolloutStage.STEPPING or candidate is None or candidate.step is None:
            return None
        step = candidate.plan.steps[candidate.step.index]
        waits = isinstance(step, ApprovalStep) and candidate.step.passed_at is None
        return step.name if waits and candidate.paused is None else None

    @property
    def awaits_a_person(self) -> bool:
        """Whether it goes on only when a person says so, without anything being wrong."""
        candidate = self.state.candidate
        paused = candidate is not None and candidate.paused is not None
        return paused or (self.awaits_approval is not None and self.state.hold is None)

    def command(self, action: str, options: str = "") -> str:
        """Return what a person types to give this rollout a command."""
        rollout = self.seen.rollout
        return command_line(action, rollout.name, rollout.namespace, options=options)

    @property
    def route_object(self) -> str:
        """The route's ConfigMap, as ``Kind/name``."""
        return route_object(self.seen.rollout)

    @property
    def serving_revision(self) -> str | None:
        """The revision that carries the majority of the traffic."""
        candidate, stable = self.state.candidate, self.state.stable
        if candidate is not None and 2 * candidate.weight > FULL_WEIGHT:
            return candidate.revision
        return stable.revision if stable else None

    @property
    def serving_pods(self) -> int:
        """How many Ready pods that revision has."""
        return ready_pods(self.seen, self.serving_revision) if self.serving_revision else 0

    @property
    def stalled_by(self) -> str | None:
        """Why a person is needed, if one is: a reason."""
        if self.seen.taken:
            return Reason.NAME_TAKEN
        if self.state.router_fight is not None:
            return Reason.ROUTE_FIGHT
        if self.seen.refusal is not None and not self.spec_serves:
            return self.seen.refusal.reason
        if self.is_refused:
            last = self.state.last_attempt
            just_now = last is not None and last.revision == self.revision
            return Reason.ROLLED_BACK if just_now else Reason.REVISION_PREVIOUSLY_FAILED
        return self._stalled_by_hold()

    def _stalled_by_hold(self) -> str | None:
        hold = self.state.hold
        if hold is None:
            return None
        if hold.reason == Reason.STATUS_LOST or self._first_or_last_resort(hold.reason):
            return hold.reason
        baseline = self.seen.baseline
        if baseline is not None and baseline.problem == Reason.BASELINE_TAMPERED:
            return Reason.BASELINE_TAMPERED
        paused = self.state.candidate is not None and self.state.candidate.paused is not None
        if paused or hold.deadline is None or self.now < hold.deadline:
            return None
        return hold.reason if hold.reason in _OWN_REASONS else Reason.NO_EVIDENCE

    def _first_or_last_resort(self, reason: str) -> bool:
        """Say whether pods are in trouble where there is nothing to roll back to (any more)."""
        if reason == Reason.NO_READY_ENDPOINT:
            return True
        alone = self.state.stable is None or self.state.stage is RolloutStage.PROMOTING
        return alone and reason not in _WAITED_FOR


_WAITED_FOR = frozenset({Reason.WEIGHT_NOT_OBSERVED, Reason.CANARY_UNAVAILABLE})
"""What a hold may be about, until its deadline, without a person being needed."""
_OWN_REASONS = frozenset(
    {
        Reason.PROBE_FAILED,
        Reason.CANARY_UNAVAILABLE,
        Reason.STABLE_UNDERSIZED,
        Reason.WEIGHT_NOT_OBSERVED,
        Reason.ROUTERS_SILENT,
    }
)
