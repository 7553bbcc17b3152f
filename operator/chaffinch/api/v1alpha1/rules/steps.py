"""Rules of the steps: what each is, and their order."""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.quantities import DURATION_PATTERN, duration_seconds
from chaffinch.api.v1alpha1.rollout import CanaryAction, InferenceRolloutSpec, Step, StrategySpec
from chaffinch.api.v1alpha1.rules.rule import Rule, raw
from chaffinch.api.v1alpha1.strategy import DEFAULT_PROGRESS_DEADLINE_SECONDS

_NO_STEPS = "!has(self.steps) || size(self.steps) == 0"
_WEIGHTS = "self.steps.filter(s, has(s.canary)).map(s, s.canary.weight)"


def _actions(step: Step) -> int:
    return sum(
        action is not None for action in (step.warm_up, step.probe, step.canary, step.approval, step.bake)
    )


def _max_wait_covers_for(canary: CanaryAction) -> bool:
    return canary.max_wait is None or duration_seconds(canary.max_wait) >= duration_seconds(canary.for_)


def _names_differ(strategy: StrategySpec) -> bool:
    return len({step.name for step in strategy.steps}) == len(strategy.steps)


def _weights_rise(strategy: StrategySpec) -> bool:
    weights = [step.canary.weight for step in strategy.steps if step.canary]
    return weights == sorted(set(weights))


def _probes_come_before_canaries(strategy: StrategySpec) -> bool:
    order = ["probe" if step.probe else "canary" for step in strategy.steps if step.probe or step.canary]
    return order == sorted(order, reverse=True)


def _startup_fits(spec: InferenceRolloutSpec) -> bool:
    startup = spec.pod.startup_seconds if spec.pod else None
    deadline = spec.strategy.progress_deadline if spec.strategy else None
    limit = duration_seconds(deadline) if deadline else DEFAULT_PROGRESS_DEADLINE_SECONDS
    return startup is None or startup <= limit


def _is_duration(field: str) -> str:
    return f"{field}.matches({raw(DURATION_PATTERN)})"


_FOR = "self.__for__"  # CEL reserves the word
_STARTUP = "self.pod.startupSeconds"
_DEADLINE = "self.strategy.progressDeadline"

RULES: tuple[Rule[Any], ...] = (
    Rule(
        model=Step,
        message="a step needs exactly one of warmUp, probe, canary, approval, bake",
        cel="[has(self.warmUp), has(self.probe), has(self.canary), has(self.approval), has(self.bake)]"
        ".filter(present, present).size() == 1",
        holds=lambda step: _actions(step) == 1,
    ),
    Rule(
        model=CanaryAction,
        field=".maxWait",
        message="maxWait may not be shorter than for",
        cel=f"!has(self.maxWait) || !{_is_duration('self.maxWait')} || !{_is_duration(_FOR)} || "
        f"duration(self.maxWait) >= duration({_FOR})",
        holds=_max_wait_covers_for,
    ),
    Rule(
        model=StrategySpec,
        field=".steps",
        message="every step needs a name of its own",
        cel=f"{_NO_STEPS} || self.steps.all(s, self.steps.exists_one(t, t.name == s.name))",
        holds=_names_differ,
    ),
    Rule(
        model=StrategySpec,
        field=".steps",
        message="warmUp can only be the first step",
        cel=f"{_NO_STEPS} || self.steps.filter(s, has(s.warmUp)).size() == "
        "(has(self.steps[0].warmUp) ? 1 : 0)",
        holds=lambda strategy: all(step.warm_up is None for step in strategy.steps[1:]),
    ),
    Rule(
        model=StrategySpec,
        field=".steps",
        message="bake can only be the last step",
        cel=f"{_NO_STEPS} || self.steps.filter(s, has(s.bake)).size() == "
        "(has(self.steps[size(self.steps) - 1].bake) ? 1 : 0)",
        holds=lambda strategy: all(step.bake is None for step in strategy.steps[:-1]),
    ),
    Rule(
        model=StrategySpec,
        field=".steps",
        message="a probe step must come before every canary step: under users' traffic it would measure both",
        cel=f"{_NO_STEPS} || !self.steps.exists(s, has(s.canary)) || "
        "self.steps.map(s, has(s.probe)).lastIndexOf(true) < self.steps.map(s, has(s.canary)).indexOf(true)",
        holds=_probes_come_before_canaries,
    ),
    Rule(
        model=StrategySpec,
        field=".steps",
        message="the weights of canary steps must rise from step to step",
        cel=f"{_NO_STEPS} || ({_WEIGHTS}.isSorted() && {_WEIGHTS}.all(w, {_WEIGHTS}.exists_one(v, v == w)))",
        holds=_weights_rise,
    ),
    Rule(
        model=StrategySpec,
        field=".steps",
        message="nothing would be judged: add a canary or a probe step",
        cel=f"{_NO_STEPS} || self.steps.exists(s, has(s.canary) || has(s.probe))",
        holds=lambda strategy: (
            not strategy.steps or any(step.canary or step.probe for step in strategy.steps)
        ),
    ),
    Rule(
        model=InferenceRolloutSpec,
        field=".pod",
        message="startupSeconds may not exceed strategy.progressDeadline (15m when absent): "
        "raise the deadline",
        cel=f"!has(self.pod) || !has({_STARTUP}) || {_STARTUP} <= (has(self.strategy) && has({_DEADLINE}) && "
        f"{_is_duration(_DEADLINE)} ? duration({_DEADLINE}).getSeconds() : "
        f"{DEFAULT_PROGRESS_DEADLINE_SECONDS})",
        holds=_startup_fits,
    ),
)
