"""Rules between objectives and steps: every limit needs a step that can measure it.

A limit that nothing measures would either hold a rollout for ever or be passed over in silence.
"""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.quantities import latency_seconds
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec, Metric, Require
from chaffinch.api.v1alpha1.rules.objectives import MILLIS, SECONDS
from chaffinch.api.v1alpha1.rules.rule import Rule, number
from chaffinch.api.v1alpha1.strategy import BakeStep, CanaryStep, ProbeStep, strategy_of

LONGEST_LIVE_SECONDS = 55.0
"""The longest limit that routers can show to be kept: they see answers of up to 60 s, and a limit is kept
once 1.08 times it is ruled out."""

_HAS_STEPS = "has(self.strategy) && has(self.strategy.steps) && size(self.strategy.steps) > 0"
_PROBES = f"({_HAS_STEPS} ? self.strategy.steps.exists(s, has(s.probe)) : has(self.baseline))"
_CANARIES = f"({_HAS_STEPS} ? self.strategy.steps.exists(s, has(s.canary)) : true)"
_LIVE = f"({_HAS_STEPS} ? self.strategy.steps.exists(s, has(s.canary) || has(s.bake)) : true)"
_SHORT_ENOUGH = " && ".join(
    number("o.max", pattern, unit, f"x <= {LONGEST_LIVE_SECONDS * per_second}")
    for pattern, unit, per_second in ((MILLIS, "ms", 1000), (SECONDS, "s", 1))
)
_PROVES_LIVE = (
    f"({_HAS_STEPS} ? self.strategy.steps.exists(s, has(s.canary) && "
    "(has(s.canary.require) ? s.canary.require == 'Proven' : s.canary.weight >= 50)) : true)"
)


def _probes(spec: InferenceRolloutSpec) -> bool:
    return any(isinstance(step, ProbeStep) for step in strategy_of(spec).steps)


def _probes_against_baseline(spec: InferenceRolloutSpec) -> bool:
    return spec.baseline is not None and _probes(spec)


def _has_canary(spec: InferenceRolloutSpec) -> bool:
    return any(isinstance(step, CanaryStep) for step in strategy_of(spec).steps)


def _is_seen_by_router(spec: InferenceRolloutSpec) -> bool:
    return any(isinstance(step, CanaryStep | BakeStep) for step in strategy_of(spec).steps)


def _limits_are_short(spec: InferenceRolloutSpec) -> bool:
    return all(
        latency_seconds(objective.max) <= LONGEST_LIVE_SECONDS
        for objective in spec.objectives
        if objective.metric in {Metric.TTFT, Metric.E2E} and objective.max is not None
    )


def _proves_live(spec: InferenceRolloutSpec) -> bool:
    return any(
        isinstance(step, CanaryStep) and step.require is Require.PROVEN for step in strategy_of(spec).steps
    )


def _names_tpot(spec: InferenceRolloutSpec, *, relative: bool) -> bool:
    return any(
        objective.metric is Metric.TPOT and (objective.max_regression is not None or not relative)
        for objective in spec.objectives
    )


def _regresses_live(spec: InferenceRolloutSpec) -> bool:
    return any(
        objective.max_regression is not None and objective.metric is not Metric.TPOT
        for objective in spec.objectives
    )


RULES: tuple[Rule[Any], ...] = (
    Rule(
        model=InferenceRolloutSpec,
        field=".objectives",
        message="max of ttft and e2e may be at most 55s in a rollout with canary or bake steps, for routers "
        "do not follow a request for longer: lower max, or judge it by probe steps only",
        cel=f"!{_LIVE} || self.objectives.all(o, !(o.metric in ['ttft', 'e2e']) || ({_SHORT_ENOUGH}))",
        holds=lambda spec: not _is_seen_by_router(spec) or _limits_are_short(spec),
    ),
    Rule(
        model=InferenceRolloutSpec,
        field=".objectives",
        message="tpot is only measured by a probe: add a probe step to strategy.steps, or name a baseline",
        cel=f"!self.objectives.exists(o, o.metric == 'tpot') || {_PROBES}",
        holds=lambda spec: not _names_tpot(spec, relative=False) or _probes(spec),
    ),
    Rule(
        model=InferenceRolloutSpec,
        field=".objectives",
        message="maxRegression of tpot is only measured against a baseline: name one, or use max",
        cel="!self.objectives.exists(o, o.metric == 'tpot' && has(o.maxRegression)) || has(self.baseline)",
        holds=lambda spec: not _names_tpot(spec, relative=True) or spec.baseline is not None,
    ),
    Rule(
        model=InferenceRolloutSpec,
        field=".objectives",
        message="maxRegression needs a step that can prove it: a canary step with require: Proven "
        "(the default from weight 50 on), or a probe step and a baseline",
        cel="!self.objectives.exists(o, o.metric != 'tpot' && has(o.maxRegression)) || "
        f"{_PROVES_LIVE} || (has(self.baseline) && {_PROBES})",
        holds=lambda spec: not _regresses_live(spec) or _proves_live(spec) or _probes_against_baseline(spec),
    ),
    Rule(
        model=InferenceRolloutSpec,
        field=".objectives",
        message="maxIncrease needs something to compare with: a canary step, or a probe step and a baseline",
        cel="!self.objectives.exists(o, has(o.maxIncrease)) || "
        f"{_CANARIES} || (has(self.baseline) && {_PROBES})",
        holds=lambda spec: (
            not any(objective.max_increase for objective in spec.objectives)
            or _has_canary(spec)
            or _probes_against_baseline(spec)
        ),
    ),
    Rule(
        model=InferenceRolloutSpec,
        field=".baseline",
        message="a baseline is only compared with in a probe step: add one to strategy.steps, "
        "or remove the baseline",
        cel=f"!has(self.baseline) || {_PROBES}",
        holds=lambda spec: spec.baseline is None or _probes(spec),
    ),
)
