"""Watches every decision and every write of every story, and holds them against the invariants.

I1 no black hole, I2 stable keeps its capacity, I3 the weight follows recorded passes, I4 no advance without
evidence. Each check knows the world only from outside; none of them asks the state machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chaffinch.api.v1alpha1.attempt_status import DecisionKind
from chaffinch.api.v1alpha1.command import CommandAction
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.status import RolloutStatus
from chaffinch.api.v1alpha1.strategy import ApprovalStep, BakeStep, CanaryStep, ProbeStep, ResolvedStep
from chaffinch.domain.evidence import Evidence
from chaffinch.domain.machine import Next
from chaffinch.domain.observation import Observation
from chaffinch.domain.route import RouteIntent
from chaffinch.domain.state import RolloutState
from chaffinch.domain.verdict import Judgement, Outcome
from scenarios.world import World

FEWEST_REQUESTS = 150
FEWEST_TURNED_AWAY = 5


def weight_allowed_by(step: ResolvedStep) -> int:
    """Return the most that a candidate may have in a step, in ten-thousandths."""
    if isinstance(step, BakeStep):
        return 10_000
    return step.weight if isinstance(step, CanaryStep | ApprovalStep) else 0


@dataclass
class Oracle:
    """The invariants, and what it has seen recorded so far.

    Attributes:
        world: The world outside of the operator.
        passes: Steps whose pass was recorded, as (attempt, index).
        promotions: Attempts whose promotion was recorded.
        rollbacks: Revisions whose rollback was recorded.
    """

    world: World
    passes: set[tuple[int, int]] = field(default_factory=set)
    promotions: set[int] = field(default_factory=set)
    rollbacks: set[str] = field(default_factory=set)

    def decided(
        self, before: RolloutState, decided: Next, judgement: Judgement | None, seen: Observation
    ) -> None:
        """Check a decision: a step passes only on evidence (I4)."""
        old, new = before.candidate, decided.state.candidate
        if old is None or new is None or old.step is None or new.step is None:
            return
        frozen = old.paused is not None and new.decision is None
        assert new.weight <= old.weight or not frozen, "a weight rose in a pause"
        if old.step.passed_at is not None or new.step.passed_at is None:
            return
        step = old.plan.steps[old.step.index]
        if isinstance(step, ApprovalStep):
            self._approved(old.revision, step.name, seen)
            return
        assert judgement is not None, "I4: a step passed without a judgement"
        assert judgement.outcome is Outcome.PASS, "I4: a step passed without a Pass"
        assert old.paused is None, "a paused step passed"
        if isinstance(step, ProbeStep):
            return
        assert isinstance(seen.evidence, Evidence), "I4: a step passed without evidence"
        assert seen.evidence.candidate.requests >= FEWEST_REQUESTS, (
            "I4: a step passed on a handful of requests"
        )

    def _approved(self, revision: str, step: str, seen: Observation) -> None:
        meant = [(each.action, each.revision, each.step) for each in seen.commands[:1]]
        assert meant == [(CommandAction.APPROVE, revision, step)], "an approval step passed by itself"

    def status_written(self, status: RolloutStatus, generation: int) -> None:
        """Check a status and note what it records."""
        conditions = {each.type: each for each in status.conditions}
        true = {kind for kind, each in conditions.items() if each.status.value == "True"}
        assert not {"Ready", "Stalled"} <= true, "Ready and Stalled are True together"
        assert not {"Reconciling", "Stalled"} <= true, "Reconciling and Stalled are True together"
        assert all(each.observed_generation == generation for each in status.conditions)
        progress = status.rollout
        if progress is None or status.candidate is None:
            return
        assert "Ready" not in true, "Ready is True while another revision is tried"
        attempt = status.candidate.attempt
        if progress.step is not None and progress.step.passed_at is not None:
            self.passes.add((attempt, progress.step.index))
        if progress.decision is not None and progress.decision.kind is DecisionKind.PROMOTE:
            self.promotions.add(attempt)
        if progress.decision is not None and progress.decision.kind is DecisionKind.ROLLBACK:
            self.rollbacks.add(status.candidate.revision)

    def route_written(self, intent: RouteIntent, recorded: RolloutState) -> None:
        """Check a route before it is written."""
        weights = [arm.weight for arm in intent.arms]
        assert sum(weights) in {0, 10_000}, f"weights add up to {sum(weights)}"
        before = self.world.route.intent.arms if self.world.route else ()
        assert sum(weights) >= sum(arm.weight for arm in before), "I1: traffic is taken back from everyone"
        self._no_black_hole(intent)
        self._only_warm_pods(intent)
        self._weight_follows_passes(intent, recorded)

    def _no_black_hole(self, intent: RouteIntent) -> None:
        before = self.world.route.intent if self.world.route else None
        for arm in intent.arms:
            rises = before is None or arm.weight > before.weight_of(arm.revision)
            if arm.weight and rises:
                assert self.world.serving(arm.revision, arm.pods), f"I1: {arm} has no Ready endpoint"

    def _only_warm_pods(self, intent: RouteIntent) -> None:
        warmed = {pod for probe in self.world.observe().probes for pod in self.world.warmed_by(probe)}
        restarts = {pod.name: pod.restarts for pod in self.world.pods}
        for arm in intent.arms:
            cold = [name for name in arm.pods or () if (name, restarts.get(name)) not in warmed]
            assert not cold, f"{cold} are admitted and no warm-up has reached them"

    def _weight_follows_passes(self, intent: RouteIntent, recorded: RolloutState) -> None:
        before = self.world.route.intent if self.world.route else None
        for arm in intent.arms:
            if arm.revision == intent.stable or arm.weight == 0:
                continue
            if before is not None and arm.weight <= before.weight_of(arm.revision):
                continue
            self._may_rise(arm.revision, arm.weight, recorded)

    def _may_rise(self, revision: str, weight: int, recorded: RolloutState) -> None:
        stored = self.world.route.intent if self.world.route else None
        if stored is not None and stored.decision is not None and stored.attempt == recorded.attempts:
            assert stored.decision.kind is DecisionKind.PROMOTE, "I3: a weight rose against a decision"
        candidate = recorded.candidate
        assert candidate is not None, "I3: a weight rose and no attempt is recorded"
        assert candidate.revision == revision, "I3: a weight rose that is not the candidate's"
        if candidate.attempt in self.promotions:
            return
        assert candidate.step is not None, "I3: a weight rose before any step is recorded"
        step = candidate.plan.steps[candidate.step.index]
        limit = weight_allowed_by(step)
        assert weight <= limit, f"I3: weight {weight} exceeds the step's {limit}"
        first = 0 if candidate.plan.strategy.warm_up is None else 1
        missing = [i for i in range(first, candidate.step.index) if (candidate.attempt, i) not in self.passes]
        assert not missing, f"I3: no pass is recorded of the steps {missing}"

    def _storms(self, revision: str) -> bool:
        """Say whether nodes turn away its pods: then it may be made smaller by those that are not Ready."""
        pods = [pod for pod in self.world.pods if pod.revision == revision]
        return sum(pod.failed is not None for pod in pods) >= FEWEST_TURNED_AWAY

    def applied(self, manifest: dict[str, Any], spec: InferenceRolloutSpec) -> None:
        """Check that no revision that routers send requests to is made too small (I2)."""
        if manifest["kind"] != "Deployment":
            return
        revision, wanted = manifest["metadata"]["name"].rsplit("-", 1)[1], manifest["spec"]["replicas"]
        if wanted >= self.world.replicas.get(revision, 0) or self.world.in_force is None:
            return
        carries = self.world.in_force.intent.weight_of(revision)
        enough = spec.replicas if carries else 0
        if self._storms(revision):
            enough = min(enough, len(self.world.serving(revision)))
        # A revision that was rolled back goes in the end, even if a router never follows.
        given_up = revision in self.rollbacks and self.world.routers_stuck
        assert wanted >= enough or given_up, f"I2: {revision} carries {carries} and gets {wanted} pods"
